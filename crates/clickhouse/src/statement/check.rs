//! The pass over the whole syntax tree that refuses what the engine would drop without a word.
//!
//! Every struct is taken apart without `..` and every enum is matched without `_`, so that a field that a new parser
//! brings breaks the build here and is looked at. A clause is either known to be honoured by the engine, rewritten into
//! one that is (PREWHERE, `count()`), or refused by name with code 48. Expressions are in `expr.rs`, tables and joins in
//! `relation.rs`. Chains that are deep only to the left are walked in loops, not by recursion.

mod expr;
mod relation;

use crate::exception::{ErrorCode, Exception};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Cte, Distinct, Expr, GroupByExpr, GroupByWithModifier, LimitClause,
    NamedWindowExpr, Offset, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Query, Select,
    SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Values,
    WildcardAdditionalOptions, With,
};

type Checked = Result<(), Exception>;

/// Checks a query and everything inside it, and rewrites what can be.
pub(super) fn query(query: &mut Query) -> Checked {
    Checker { may_name_window: false }.query(query)
}

/// Returns the refusal of `clause` if it is there.
fn refuse_if(is_there: bool, clause: &str) -> Checked {
    match is_there {
        true => Err(Exception::not_implemented(clause)),
        false => Ok(()),
    }
}

struct Checker {
    /// The engine resolves `OVER name` only in the SELECT list; elsewhere it would forget the window.
    may_name_window: bool,
}

impl Checker {
    fn query(&mut self, query: &mut Query) -> Checked {
        let Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        refuse_if(fetch.is_some(), "FETCH")?;
        refuse_if(!locks.is_empty(), "FOR UPDATE or FOR SHARE")?;
        refuse_if(for_clause.is_some(), "FOR XML or FOR JSON")?;
        refuse_if(
            settings.is_some(),
            "SETTINGS inside a query (put it at the end of the statement)",
        )?;
        refuse_if(
            format_clause.is_some(),
            "FORMAT inside a query (put it at the end of the statement)",
        )?;
        refuse_if(!pipe_operators.is_empty(), "the pipe operator |>")?;
        let outer = std::mem::replace(&mut self.may_name_window, false);
        if let Some(with) = with {
            self.with(with)?;
        }
        let is_select = matches!(body.as_ref(), SetExpr::Select(_));
        self.set_expr(body)?;
        if let Some(order_by) = order_by {
            self.order_by(order_by, is_select)?;
        }
        if let Some(limit) = limit_clause {
            self.limit(limit)?;
        }
        self.may_name_window = outer;
        Ok(())
    }

    fn with(&mut self, with: &mut With) -> Checked {
        let With { with_token: _, recursive: _, cte_tables } = with;
        for cte in cte_tables {
            let Cte { alias, query, from, materialized: _, closing_paren_token: _ } = cte;
            refuse_if(from.is_some(), "WITH … FROM")?;
            relation::alias(alias)?;
            self.query(query)?;
        }
        Ok(())
    }

    fn set_expr(&mut self, mut body: &mut SetExpr) -> Checked {
        loop {
            match body {
                SetExpr::Select(select) => return self.select(select),
                SetExpr::Query(query) => return self.query(query),
                SetExpr::SetOperation { left, op: _, set_quantifier: _, right } => {
                    self.set_expr(right)?;
                    body = left;
                }
                SetExpr::Values(values) => {
                    let Values { explicit_row: _, value_keyword, rows } = values;
                    refuse_if(*value_keyword, "VALUE")?;
                    let rows = rows.iter_mut().flat_map(|row| row.content.iter_mut());
                    return self.exprs(rows);
                }
                SetExpr::Insert(_)
                | SetExpr::Update(_)
                | SetExpr::Delete(_)
                | SetExpr::Merge(_) => {
                    return Err(Exception::new(
                        ErrorCode::Readonly,
                        "queries only read; add rows with `peerage load`",
                    ));
                }
                SetExpr::Table(_) => return refuse_if(true, "TABLE name (use SELECT * FROM name)"),
            }
        }
    }

    fn select(&mut self, select: &mut Select) -> Checked {
        let Select {
            select_token: _,
            optimizer_hints,
            distinct,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor,
        } = select;
        // A hint is a comment; ClickHouse reads it as one.
        optimizer_hints.clear();
        refuse_if(select_modifiers.is_some(), "a modifier after SELECT")?;
        refuse_if(top.is_some(), "TOP (use LIMIT)")?;
        refuse_if(exclude.is_some(), "EXCLUDE after the SELECT list")?;
        refuse_if(into.is_some(), "INTO")?;
        refuse_if(!lateral_views.is_empty(), "LATERAL VIEW")?;
        refuse_if(!connect_by.is_empty(), "CONNECT BY")?;
        refuse_if(!cluster_by.is_empty(), "CLUSTER BY")?;
        refuse_if(!distribute_by.is_empty(), "DISTRIBUTE BY")?;
        refuse_if(!sort_by.is_empty(), "SORT BY")?;
        refuse_if(value_table_mode.is_some(), "SELECT AS VALUE or AS STRUCT")?;
        refuse_if(*flavor == SelectFlavor::FromFirstNoSelect, "FROM without SELECT")?;
        merge_prewhere(prewhere, selection);
        self.distinct(distinct.as_mut())?;
        self.may_name_window = true;
        projection.iter_mut().try_for_each(|item| self.item(item))?;
        self.may_name_window = false;
        from.iter_mut().try_for_each(|tables| self.tables(tables))?;
        self.exprs(selection.iter_mut().chain(having).chain(qualify))?;
        self.group_by(group_by)?;
        for window in named_window {
            match &mut window.1 {
                NamedWindowExpr::NamedWindow(_) => refuse_if(true, "a window that names a window")?,
                NamedWindowExpr::WindowSpec(spec) => self.window(spec)?,
            }
        }
        Ok(())
    }

    fn distinct(&mut self, distinct: Option<&mut Distinct>) -> Checked {
        match distinct {
            None | Some(Distinct::All | Distinct::Distinct) => Ok(()),
            Some(Distinct::On(exprs)) => self.exprs(exprs),
        }
    }

    fn item(&mut self, item: &mut SelectItem) -> Checked {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, alias: _ } => {
                self.expr(expr)
            }
            SelectItem::ExprWithAliases { .. } => refuse_if(true, "several aliases of one column"),
            SelectItem::QualifiedWildcard(kind, options) => {
                let is_expr = matches!(kind, SelectItemQualifiedWildcardKind::Expr(_));
                refuse_if(is_expr, "* of an expression")?;
                self.wildcard(options)
            }
            SelectItem::Wildcard(options) => self.wildcard(options),
        }
    }

    fn wildcard(&mut self, options: &mut WildcardAdditionalOptions) -> Checked {
        let WildcardAdditionalOptions {
            wildcard_token: _,
            opt_ilike: _,
            opt_exclude: _,
            opt_except: _,
            opt_replace,
            opt_rename,
            opt_alias,
        } = options;
        refuse_if(opt_rename.is_some(), "* RENAME")?;
        refuse_if(opt_alias.is_some(), "* AS")?;
        match opt_replace {
            Some(replace) => self.exprs(replace.items.iter_mut().map(|item| &mut item.expr)),
            None => Ok(()),
        }
    }

    fn group_by(&mut self, group_by: &mut GroupByExpr) -> Checked {
        let (exprs, modifiers) = match group_by {
            GroupByExpr::All(modifiers) => (None, modifiers),
            GroupByExpr::Expressions(exprs, modifiers) => (Some(exprs), modifiers),
        };
        match modifiers.first() {
            None => {}
            Some(GroupByWithModifier::Rollup) => {
                refuse_if(true, "WITH ROLLUP (use GROUP BY ROLLUP(…))")?;
            }
            Some(GroupByWithModifier::Cube) => refuse_if(true, "WITH CUBE (use GROUP BY CUBE(…))")?,
            Some(GroupByWithModifier::Totals) => refuse_if(true, "WITH TOTALS")?,
            Some(GroupByWithModifier::GroupingSets(_)) => {
                refuse_if(true, "GROUPING SETS after GROUP BY columns")?;
            }
        }
        self.exprs(exprs.into_iter().flatten())
    }

    fn order_by(&mut self, order_by: &mut OrderBy, is_select: bool) -> Checked {
        let OrderBy { kind, interpolate } = order_by;
        refuse_if(interpolate.is_some(), "INTERPOLATE")?;
        match kind {
            OrderByKind::All(OrderByOptions { asc: _, nulls_first: _ }) => {
                refuse_if(!is_select, "ORDER BY ALL after UNION, EXCEPT or INTERSECT")
            }
            OrderByKind::Expressions(exprs) => self.order_by_exprs(exprs),
        }
    }

    fn order_by_exprs(&mut self, exprs: &mut [OrderByExpr]) -> Checked {
        for expr in exprs {
            let OrderByExpr { expr, options: OrderByOptions { asc: _, nulls_first: _ }, with_fill } =
                expr;
            refuse_if(with_fill.is_some(), "WITH FILL")?;
            self.expr(expr)?;
        }
        Ok(())
    }

    fn limit(&mut self, limit: &mut LimitClause) -> Checked {
        match limit {
            LimitClause::LimitOffset { limit, offset, limit_by } => {
                refuse_if(!limit_by.is_empty(), "LIMIT BY")?;
                let offset = offset.as_mut().map(|Offset { value, rows: _ }| value);
                self.exprs(limit.iter_mut().chain(offset))
            }
            LimitClause::OffsetCommaLimit { offset, limit } => self.exprs([offset, limit]),
        }
    }

    fn exprs<'a>(&mut self, exprs: impl IntoIterator<Item = &'a mut Expr>) -> Checked {
        exprs.into_iter().try_for_each(|expr| self.expr(expr))
    }
}

/// PREWHERE only says which columns are read first; its condition is one of WHERE.
fn merge_prewhere(prewhere: &mut Option<Expr>, selection: &mut Option<Expr>) {
    let Some(first) = prewhere.take() else { return };
    *selection = Some(match selection.take() {
        None => first,
        Some(second) => Expr::BinaryOp {
            left: Box::new(Expr::Nested(Box::new(first))),
            op: BinaryOperator::And,
            right: Box::new(Expr::Nested(Box::new(second))),
        },
    });
}
