//! The names that ClickHouse gives to columns without an alias, where they are simple.
//!
//! `SELECT 1` has a column `1`, `count(*)` is `count()`, `a + 1` is `plus(a, 1)`. Clients look for these names. An
//! expression that is not printed here keeps the engine's name; a name that two columns would get is given to neither,
//! because two columns of one name are for the caller to solve.

use crate::data_type::is_plain_identifier;
use crate::format::escape;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, CeilFloorKind, DateTimeField, DuplicateTreatment, Expr,
    Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    OrderByExpr, OrderByKind, Query, SelectItem, SetExpr, Subscript, UnaryOperator, Value,
};
use std::collections::HashMap;

/// Levels of an expression that are printed: a longer name helps nobody.
const DEPTH_MAX: usize = 32;

/// Gives the unaliased columns of the outermost SELECT their ClickHouse names.
///
/// Behind DISTINCT and UNION the engine sorts by output columns only, and a named column is no longer the
/// expression that ORDER BY repeats; there ORDER BY takes the name too.
pub(super) fn name_columns(query: &mut Query) {
    let Query { body, order_by, .. } = query;
    let is_set = !matches!(body.as_ref(), SetExpr::Select(_));
    let mut body = body.as_mut();
    let select = loop {
        match body {
            SetExpr::Select(select) => break select,
            SetExpr::Query(query) => body = query.body.as_mut(),
            SetExpr::SetOperation { left, .. } => body = left.as_mut(),
            _ => return,
        }
    };
    let sorts_output = is_set || select.distinct.is_some();
    let mut sorted: Vec<&mut OrderByExpr> =
        match order_by.as_mut().map(|order_by| &mut order_by.kind) {
            Some(OrderByKind::Expressions(exprs)) if sorts_output => exprs.iter_mut().collect(),
            _ => Vec::new(),
        };
    let names: Vec<Option<String>> = select.projection.iter().map(output_name).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for name in names.iter().flatten() {
        *uses.entry(name).or_default() += 1;
    }
    for (item, name) in select.projection.iter_mut().zip(&names) {
        let (SelectItem::UnnamedExpr(expr), Some(name)) = (&mut *item, name) else { continue };
        if is_column(expr) || uses.get(name.as_str()) != Some(&1) {
            continue;
        }
        let alias = Ident::with_quote('`', name);
        let expr = std::mem::replace(expr, Expr::Value(Value::Null.into()));
        for sort in sorted.iter_mut().filter(|sort| sort.expr == expr && !is_literal(&expr)) {
            sort.expr = Expr::Identifier(alias.clone());
        }
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

/// A number in ORDER BY is the place of a column, not its value.
const fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(_))
}

const fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

fn output_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.value.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => {
            names.last().map(|name| name.value.clone())
        }
        SelectItem::UnnamedExpr(expr) => default_name(expr),
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::ExprWithAliases { .. }
        | SelectItem::QualifiedWildcard(..)
        | SelectItem::Wildcard(_) => None,
    }
}

/// Returns the name that ClickHouse gives a column of this expression, where it is simple.
pub fn default_name(expr: &Expr) -> Option<String> {
    let mut name = String::new();
    print(expr, &mut name, 0)?;
    Some(name)
}

/// Prints `expr`; nothing is returned for what is not printed here.
fn print(expr: &Expr, out: &mut String, depth: usize) -> Option<()> {
    if depth > DEPTH_MAX {
        return None;
    }
    let deeper = depth.saturating_add(1);
    match expr {
        Expr::Value(value) => print_literal(&value.value, out),
        Expr::Identifier(name) => {
            match is_plain_identifier(&name.value) {
                true => out.push_str(&name.value),
                false => out.push_str(&format!("`{}`", name.value.replace('`', "\\`"))),
            }
            Some(())
        }
        Expr::Nested(inner) => print(inner, out, deeper),
        Expr::UnaryOp { op, expr } => print_unary(*op, expr, out, deeper),
        Expr::BinaryOp { left, op, right } => {
            print_call(function_of(op)?, &[left, right], out, deeper)
        }
        Expr::IsNull(expr) => print_call("isNull", &[expr], out, deeper),
        Expr::IsNotNull(expr) => print_call("isNotNull", &[expr], out, deeper),
        Expr::Like { negated, any: false, expr, pattern, escape_char: None } => {
            print_call(if *negated { "notLike" } else { "like" }, &[expr, pattern], out, deeper)
        }
        Expr::ILike { negated, any: false, expr, pattern, escape_char: None } => {
            print_call(if *negated { "notILike" } else { "ilike" }, &[expr, pattern], out, deeper)
        }
        Expr::Array(Array { elem, .. }) => print_list("[", &refs(elem), "]", out, deeper),
        Expr::CompoundFieldAccess { root, access_chain } => match access_chain.as_slice() {
            [AccessExpr::Subscript(Subscript::Index { index })] => {
                print_call("arrayElement", &[root, index], out, deeper)
            }
            _ => None,
        },
        Expr::Floor { expr, field } if is_bare(field) => print_call("floor", &[expr], out, deeper),
        Expr::Ceil { expr, field } if is_bare(field) => print_call("ceil", &[expr], out, deeper),
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            let mut arguments: Vec<&Expr> = vec![expr];
            arguments.extend(substring_from.as_deref());
            arguments.extend(substring_for.as_deref());
            print_call("substring", &arguments, out, deeper)
        }
        Expr::Function(function) => print_function(function, out, deeper),
        _ => None,
    }
}

const fn is_bare(field: &CeilFloorKind) -> bool {
    matches!(field, CeilFloorKind::DateTimeField(DateTimeField::NoDateTime))
}

fn refs(list: &[Expr]) -> Vec<&Expr> {
    list.iter().collect()
}

fn print_literal(value: &Value, out: &mut String) -> Option<()> {
    match value {
        Value::Number(digits, _) => print_number(digits, out),
        Value::SingleQuotedString(text) => {
            let mut bytes = Vec::with_capacity(text.len().saturating_add(2));
            escape::quoted(text.as_bytes(), &mut bytes);
            out.push_str(std::str::from_utf8(&bytes).ok()?);
            Some(())
        }
        Value::Boolean(value) => {
            out.push_str(if *value { "true" } else { "false" });
            Some(())
        }
        Value::Null => {
            out.push_str("NULL");
            Some(())
        }
        _ => None,
    }
}

/// Integers and plain decimals; ClickHouse prints a whole float as `1.`.
fn print_number(digits: &str, out: &mut String) -> Option<()> {
    if let Ok(whole) = digits.parse::<u64>() {
        out.push_str(&whole.to_string());
        return Some(());
    }
    let (whole, fraction) = digits.split_once('.')?;
    let is_plain = !whole.is_empty()
        && digits.len() <= 16
        && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !is_plain || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    out.push_str(whole);
    out.push('.');
    out.push_str(fraction.trim_end_matches('0'));
    Some(())
}

fn print_unary(op: UnaryOperator, expr: &Expr, out: &mut String, depth: usize) -> Option<()> {
    match (op, expr) {
        (UnaryOperator::Minus, Expr::Value(value)) => {
            let Value::Number(digits, _) = &value.value else { return None };
            out.push('-');
            print_number(digits, out)
        }
        (UnaryOperator::Minus, expr) => print_call("negate", &[expr], out, depth),
        (UnaryOperator::Not, expr) => print_call("not", &[expr], out, depth),
        (UnaryOperator::Plus, expr) => print(expr, out, depth),
        _ => None,
    }
}

const fn function_of(op: &BinaryOperator) -> Option<&'static str> {
    Some(match op {
        BinaryOperator::Plus => "plus",
        BinaryOperator::Minus => "minus",
        BinaryOperator::Multiply => "multiply",
        BinaryOperator::Divide => "divide",
        BinaryOperator::Modulo => "modulo",
        BinaryOperator::Eq => "equals",
        BinaryOperator::NotEq => "notEquals",
        BinaryOperator::Lt => "less",
        BinaryOperator::LtEq => "lessOrEquals",
        BinaryOperator::Gt => "greater",
        BinaryOperator::GtEq => "greaterOrEquals",
        BinaryOperator::StringConcat => "concat",
        _ => return None,
    })
}

fn print_call(name: &str, arguments: &[&Expr], out: &mut String, depth: usize) -> Option<()> {
    out.push_str(name);
    print_list("(", arguments, ")", out, depth)
}

fn print_list(
    open: &str,
    items: &[&Expr],
    close: &str,
    out: &mut String,
    depth: usize,
) -> Option<()> {
    out.push_str(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        print(item, out, depth)?;
    }
    out.push_str(close);
    Some(())
}

/// Only plain calls: no window, no filter, no order.
fn print_function(function: &Function, out: &mut String, depth: usize) -> Option<()> {
    let Function {
        name,
        uses_odbc_syntax: _,
        parameters,
        args,
        filter,
        null_treatment,
        over,
        within_group,
    } = function;
    let is_plain = *parameters == FunctionArguments::None
        && filter.is_none()
        && null_treatment.is_none()
        && over.is_none()
        && within_group.is_empty();
    let ([part], FunctionArguments::List(list), true) = (name.0.as_slice(), args, is_plain) else {
        return None;
    };
    let name = &part.as_ident()?.value;
    let has_lower_case = name.bytes().any(|byte| byte.is_ascii_lowercase());
    let name = if has_lower_case { name.clone() } else { name.to_ascii_lowercase() };
    let FunctionArgumentList { duplicate_treatment, args, clauses } = list;
    let is_count = name.eq_ignore_ascii_case("count");
    let name = match duplicate_treatment {
        None => name,
        Some(DuplicateTreatment::Distinct) if is_count => "countDistinct".to_string(),
        Some(_) => return None,
    };
    if !clauses.is_empty() {
        return None;
    }
    let mut arguments = Vec::with_capacity(args.len());
    for argument in args {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => arguments.push(expr),
            FunctionArg::Unnamed(FunctionArgExpr::Wildcard) if is_count && args.len() == 1 => {}
            _ => return None,
        }
    }
    print_call(&name, &arguments, out, depth)
}
