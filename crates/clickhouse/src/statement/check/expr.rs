//! Expressions: the half of the check that is about values, functions and windows.
//!
//! The engine plans most expressions wholly or fails; what it forgets is in function calls: parameters, a subquery as
//! argument, and every clause (DISTINCT, FILTER, OVER, …) of a function that turns out to be a scalar one.

use super::{Checked, Checker, refuse_if};
use crate::exception::{ErrorCode, Exception};
use datafusion::execution::SessionStateDefaults;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Array, CaseWhen, DictionaryField, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArgumentList, FunctionArguments, Interval, MapEntry, Subscript,
    Value, WindowFrame, WindowFrameBound, WindowSpec, WindowType,
};
use std::collections::HashSet;
use std::sync::LazyLock;

/// Names of the scalar functions: on these the engine forgets every clause.
static SCALAR_FUNCTIONS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let mut names = HashSet::new();
    for function in SessionStateDefaults::default_scalar_functions() {
        names.insert(function.name().to_ascii_lowercase());
        names.extend(function.aliases().iter().map(|alias| alias.to_ascii_lowercase()));
    }
    for function in SessionStateDefaults::default_aggregate_functions() {
        names.remove(function.name());
        function.aliases().iter().for_each(|alias| {
            names.remove(alias);
        });
    }
    for function in SessionStateDefaults::default_window_functions() {
        names.remove(function.name());
    }
    names
});

impl Checker {
    /// Checks an expression; what is deep to the left (operators, casts) is followed in a loop.
    pub(super) fn expr(&mut self, mut expr: &mut Expr) -> Checked {
        loop {
            expr = match expr {
                Expr::BinaryOp { left, op: _, right }
                | Expr::IsDistinctFrom(left, right)
                | Expr::IsNotDistinctFrom(left, right)
                | Expr::AnyOp { left, compare_op: _, right, is_some: _ }
                | Expr::AllOp { left, compare_op: _, right } => {
                    self.expr(right)?;
                    left
                }
                Expr::IsFalse(inner)
                | Expr::IsNotFalse(inner)
                | Expr::IsTrue(inner)
                | Expr::IsNotTrue(inner)
                | Expr::IsNull(inner)
                | Expr::IsNotNull(inner)
                | Expr::IsUnknown(inner)
                | Expr::IsNotUnknown(inner)
                | Expr::Nested(inner)
                | Expr::UnaryOp { op: _, expr: inner }
                | Expr::Extract { field: _, syntax: _, expr: inner }
                | Expr::Ceil { expr: inner, field: _ }
                | Expr::Floor { expr: inner, field: _ }
                | Expr::Named { expr: inner, name: _ } => inner,
                Expr::Cast { kind: _, expr: inner, data_type: _, array, format } => {
                    refuse_if(*array, "CAST to an ARRAY by keyword")?;
                    refuse_if(format.is_some(), "CAST … FORMAT")?;
                    inner
                }
                Expr::AtTimeZone { timestamp, time_zone } => {
                    self.expr(time_zone)?;
                    timestamp
                }
                Expr::Like { negated: _, any, expr: inner, pattern, escape_char: _ }
                | Expr::ILike { negated: _, any, expr: inner, pattern, escape_char: _ } => {
                    refuse_if(*any, "LIKE ANY")?;
                    self.expr(pattern)?;
                    inner
                }
                Expr::SimilarTo { negated: _, expr: inner, pattern, escape_char: _ } => {
                    self.expr(pattern)?;
                    inner
                }
                Expr::Between { expr: inner, negated: _, low, high } => {
                    self.expr(low)?;
                    self.expr(high)?;
                    inner
                }
                Expr::InList { expr: inner, list, negated: _ } => {
                    self.exprs(list)?;
                    inner
                }
                Expr::InSubquery { expr: inner, subquery, negated: _ } => {
                    self.query(subquery)?;
                    inner
                }
                Expr::CompoundFieldAccess { root, access_chain } => {
                    access_chain.iter_mut().try_for_each(|access| self.access(access))?;
                    root
                }
                other => return self.leaf(other),
            };
        }
    }

    /// Checks the expressions that the loop does not follow.
    fn leaf(&mut self, expr: &mut Expr) -> Checked {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::TypedString(_) => Ok(()),
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => Ok(()),
            Expr::Value(value) => match &value.value {
                Value::Placeholder(name) => Err(Exception::new(
                    ErrorCode::UnknownQueryParameter,
                    format!("Substitution `{name}` is not set"),
                )),
                _ => Ok(()),
            },
            Expr::Function(function) => self.function(function),
            Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                self.exprs(operand.as_deref_mut().into_iter().chain(else_result.as_deref_mut()))?;
                conditions.iter_mut().try_for_each(|CaseWhen { condition, result }| {
                    self.expr(condition)?;
                    self.expr(result)
                })
            }
            Expr::Exists { subquery, negated: _ } | Expr::Subquery(subquery) => {
                self.query(subquery)
            }
            Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) => {
                self.exprs(sets.iter_mut().flatten())
            }
            Expr::Tuple(exprs) | Expr::Array(Array { elem: exprs, named: _ }) => self.exprs(exprs),
            Expr::Struct { values, fields } => {
                refuse_if(!fields.is_empty(), "STRUCT with field types")?;
                self.exprs(values)
            }
            Expr::Dictionary(fields) => self
                .exprs(fields.iter_mut().map(|DictionaryField { key: _, value }| value.as_mut())),
            Expr::Map(map) => map.entries.iter_mut().try_for_each(|MapEntry { key, value }| {
                self.expr(key)?;
                self.expr(value)
            }),
            Expr::Interval(interval) => self.interval(interval),
            Expr::Position { expr, r#in } => {
                self.expr(expr)?;
                self.expr(r#in)
            }
            Expr::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
                self.expr(expr)?;
                self.exprs(
                    substring_from.as_deref_mut().into_iter().chain(substring_for.as_deref_mut()),
                )
            }
            Expr::Trim { trim_where: _, trim_what, expr, trim_characters } => {
                self.expr(expr)?;
                self.exprs(trim_what.as_deref_mut())?;
                self.exprs(trim_characters.iter_mut().flatten())
            }
            Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                self.exprs([expr.as_mut(), overlay_what.as_mut(), overlay_from.as_mut()])?;
                self.exprs(overlay_for.as_deref_mut())
            }
            Expr::Lambda(lambda) => self.expr(&mut lambda.body),
            other => unsupported(other),
        }
    }

    fn access(&mut self, access: &mut AccessExpr) -> Checked {
        match access {
            AccessExpr::Dot(expr) | AccessExpr::Subscript(Subscript::Index { index: expr }) => {
                self.expr(expr)
            }
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride }) => {
                self.exprs(lower_bound.iter_mut().chain(upper_bound).chain(stride))
            }
        }
    }

    fn interval(&mut self, interval: &mut Interval) -> Checked {
        let Interval {
            value,
            leading_field: _,
            leading_precision,
            last_field,
            fractional_seconds_precision,
        } = interval;
        let is_precise = leading_precision.is_some()
            || last_field.is_some()
            || fractional_seconds_precision.is_some();
        refuse_if(is_precise, "INTERVAL with a precision or a second unit")?;
        self.expr(value)
    }

    fn function(&mut self, function: &mut Function) -> Checked {
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
        let label = name.to_string();
        let has_parameters = *parameters != FunctionArguments::None;
        refuse_if(
            has_parameters,
            "a function with parameters before its arguments, as quantile(0.5)(x),",
        )?;
        let mut has_clause = filter.is_some()
            || null_treatment.is_some()
            || over.is_some()
            || !within_group.is_empty();
        match args {
            FunctionArguments::None => {}
            FunctionArguments::Subquery(_) => {
                refuse_if(true, "a query as the only argument of a function")?;
            }
            FunctionArguments::List(list) => {
                has_clause |= list.duplicate_treatment.is_some() || !list.clauses.is_empty();
                if list.args.is_empty() && label.eq_ignore_ascii_case("count") {
                    list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
                }
                self.arguments(list)?;
            }
        }
        if has_clause && SCALAR_FUNCTIONS.contains(&label.to_ascii_lowercase()) {
            return Err(Exception::not_implemented(format!(
                "DISTINCT, ORDER BY, FILTER, NULLS or OVER in the scalar function {label}"
            )));
        }
        self.exprs(filter.as_deref_mut())?;
        self.order_by_exprs(within_group)?;
        match over {
            None => Ok(()),
            Some(WindowType::WindowSpec(window)) => self.window(window),
            Some(WindowType::NamedWindow(_)) => {
                refuse_if(!self.may_name_window, "OVER name outside the SELECT list")
            }
        }
    }

    fn arguments(&mut self, list: &mut FunctionArgumentList) -> Checked {
        let FunctionArgumentList { duplicate_treatment: _, args, clauses } = list;
        for arg in args {
            let arg = match arg {
                FunctionArg::Named { name: _, arg, operator: _ } | FunctionArg::Unnamed(arg) => arg,
                FunctionArg::ExprNamed { name, arg, operator: _ } => {
                    self.expr(name)?;
                    arg
                }
            };
            match arg {
                FunctionArgExpr::Expr(expr) => self.expr(expr)?,
                FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::Wildcard => {}
                FunctionArgExpr::WildcardWithOptions(_) => {
                    refuse_if(true, "* EXCEPT in a function")?;
                }
            }
        }
        clauses.iter_mut().try_for_each(|clause| self.argument_clause(clause))
    }

    fn argument_clause(&mut self, clause: &mut FunctionArgumentClause) -> Checked {
        match clause {
            FunctionArgumentClause::IgnoreOrRespectNulls(_) => Ok(()),
            FunctionArgumentClause::OrderBy(exprs) => self.order_by_exprs(exprs),
            FunctionArgumentClause::Limit(_) => refuse_if(true, "LIMIT in a function"),
            FunctionArgumentClause::OnOverflow(_) => refuse_if(true, "ON OVERFLOW in a function"),
            FunctionArgumentClause::Having(_) => refuse_if(true, "HAVING in a function"),
            FunctionArgumentClause::Separator(_) => refuse_if(true, "SEPARATOR in a function"),
            FunctionArgumentClause::JsonNullClause(_)
            | FunctionArgumentClause::JsonReturningClause(_) => {
                refuse_if(true, "a JSON clause in a function")
            }
        }
    }

    pub(super) fn window(&mut self, window: &mut WindowSpec) -> Checked {
        let WindowSpec { window_name, partition_by, order_by, window_frame } = window;
        refuse_if(window_name.is_some(), "a window that extends a named window")?;
        self.exprs(partition_by)?;
        self.order_by_exprs(order_by)?;
        let Some(WindowFrame { units: _, start_bound, end_bound }) = window_frame else {
            return Ok(());
        };
        for bound in [Some(start_bound), end_bound.as_mut()].into_iter().flatten() {
            match bound {
                WindowFrameBound::CurrentRow => {}
                WindowFrameBound::Preceding(expr) | WindowFrameBound::Following(expr) => {
                    self.exprs(expr.as_deref_mut())?;
                }
            }
        }
        Ok(())
    }
}

/// Refuses what the engine cannot plan, so that the answer names it.
fn unsupported(expr: &Expr) -> Checked {
    let what = match expr {
        Expr::JsonAccess { value: _, path: _ } => "access by a JSON path",
        Expr::IsNormalized { expr: _, form: _, negated: _ } => "IS NORMALIZED",
        Expr::InUnnest { expr: _, array_expr: _, negated: _ } => "IN UNNEST",
        Expr::RLike { negated: _, expr: _, pattern: _, regexp: _ } => "REGEXP and RLIKE",
        Expr::Convert { .. } => "CONVERT",
        Expr::Collate { expr: _, collation: _ } => "COLLATE",
        Expr::Prefixed { prefix: _, value: _ } => "a literal with a prefix",
        Expr::MatchAgainst { .. } => "MATCH … AGAINST",
        Expr::OuterJoin(_) => "the outer join mark (+)",
        Expr::Prior(_) => "PRIOR",
        Expr::MemberOf(_) => "MEMBER OF",
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::CompoundFieldAccess { .. }
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Between { .. }
        | Expr::BinaryOp { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::SimilarTo { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. }
        | Expr::UnaryOp { .. }
        | Expr::Cast { .. }
        | Expr::AtTimeZone { .. }
        | Expr::Extract { .. }
        | Expr::Ceil { .. }
        | Expr::Floor { .. }
        | Expr::Position { .. }
        | Expr::Substring { .. }
        | Expr::Trim { .. }
        | Expr::Overlay { .. }
        | Expr::Nested(_)
        | Expr::Value(_)
        | Expr::TypedString(_)
        | Expr::Function(_)
        | Expr::Case { .. }
        | Expr::Exists { .. }
        | Expr::Subquery(_)
        | Expr::GroupingSets(_)
        | Expr::Cube(_)
        | Expr::Rollup(_)
        | Expr::Tuple(_)
        | Expr::Struct { .. }
        | Expr::Named { .. }
        | Expr::Dictionary(_)
        | Expr::Map(_)
        | Expr::Array(_)
        | Expr::Interval(_)
        | Expr::Wildcard(_)
        | Expr::QualifiedWildcard(..)
        | Expr::Lambda(_) => "this expression",
    };
    refuse_if(true, what)
}
