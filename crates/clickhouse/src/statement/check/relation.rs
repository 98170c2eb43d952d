//! Tables, table functions and joins: the half of the check that is about FROM.
//!
//! The parser reads ClickHouse's words after a table (`FINAL`, `ANY`, …) as aliases where it does not know them, so an alias
//! without AS that is such a word is refused too.

use super::{Checked, Checker, refuse_if};
use crate::exception::Exception;
use datafusion::sql::sqlparser::ast::{
    FunctionArg, FunctionArgExpr, Join, JoinConstraint, JoinOperator, TableAlias,
    TableAliasColumnDef, TableFactor, TableFunctionArgs, TableWithJoins,
};

/// Words that ClickHouse gives a meaning after a table name.
const TABLE_WORDS: &[&str] = &[
    "FINAL",
    "SAMPLE",
    "ANY",
    "ALL",
    "ASOF",
    "SEMI",
    "ANTI",
    "PASTE",
    "GLOBAL",
    "ARRAY",
    "LOCAL",
    "PREWHERE",
    "FORMAT",
    "SETTINGS",
    "INTERPOLATE",
    "OFFSET",
];

/// Checks the alias of a table or of a common table expression.
pub(super) fn alias(alias: &TableAlias) -> Checked {
    let TableAlias { explicit, name, columns, at } = alias;
    refuse_if(at.is_some(), "AT in a table alias")?;
    let mut words = TABLE_WORDS.iter();
    if !*explicit
        && name.quote_style.is_none()
        && let Some(word) = words.find(|word| name.value.eq_ignore_ascii_case(word))
    {
        return Err(Exception::not_implemented(format!("{word} after a table")));
    }
    for TableAliasColumnDef { name: _, data_type } in columns {
        refuse_if(data_type.is_some(), "a column type in a table alias")?;
    }
    Ok(())
}

fn optional_alias(table_alias: Option<&TableAlias>) -> Checked {
    table_alias.map_or(Ok(()), alias)
}

impl Checker {
    pub(super) fn tables(&mut self, tables: &mut TableWithJoins) -> Checked {
        let TableWithJoins { relation, joins } = tables;
        self.relation(relation)?;
        for join in joins {
            let Join { relation, global, join_operator } = join;
            // GLOBAL says where the right side is computed; here it is always computed once.
            *global = false;
            self.relation(relation)?;
            self.join(join_operator)?;
        }
        Ok(())
    }

    fn join(&mut self, operator: &mut JoinOperator) -> Checked {
        match operator {
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint)
            | JoinOperator::LeftSemi(constraint)
            | JoinOperator::RightSemi(constraint)
            | JoinOperator::LeftAnti(constraint)
            | JoinOperator::RightAnti(constraint) => match constraint {
                JoinConstraint::On(expr) => self.expr(expr),
                JoinConstraint::Using(_) | JoinConstraint::Natural | JoinConstraint::None => Ok(()),
            },
            JoinOperator::CrossJoin(JoinConstraint::None) => Ok(()),
            JoinOperator::CrossJoin(_) => refuse_if(true, "a condition of CROSS JOIN"),
            JoinOperator::Semi(_) => {
                refuse_if(true, "SEMI JOIN without a side (use LEFT SEMI JOIN)")
            }
            JoinOperator::Anti(_) => {
                refuse_if(true, "ANTI JOIN without a side (use LEFT ANTI JOIN)")
            }
            JoinOperator::CrossApply | JoinOperator::OuterApply => refuse_if(true, "APPLY"),
            JoinOperator::AsOf { match_condition: _, constraint: _ } => {
                refuse_if(true, "ASOF JOIN")
            }
            JoinOperator::StraightJoin(_) => refuse_if(true, "STRAIGHT_JOIN"),
            JoinOperator::ArrayJoin
            | JoinOperator::LeftArrayJoin
            | JoinOperator::InnerArrayJoin => refuse_if(true, "ARRAY JOIN"),
        }
    }

    fn relation(&mut self, relation: &mut TableFactor) -> Checked {
        match relation {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                refuse_if(!with_hints.is_empty(), "a table hint")?;
                refuse_if(version.is_some(), "a table version")?;
                refuse_if(*with_ordinality, "WITH ORDINALITY")?;
                refuse_if(!partitions.is_empty(), "PARTITION after a table")?;
                refuse_if(json_path.is_some(), "a JSON path after a table")?;
                refuse_if(sample.is_some(), "SAMPLE")?;
                refuse_if(!index_hints.is_empty(), "an index hint")?;
                optional_alias(alias.as_ref())?;
                match args {
                    None => Ok(()),
                    Some(args) => {
                        refuse_if(name.0.len() > 1, "a table function with a database")?;
                        self.table_function(args)
                    }
                }
            }
            TableFactor::Derived { lateral: _, subquery, alias, sample } => {
                refuse_if(sample.is_some(), "SAMPLE")?;
                optional_alias(alias.as_ref())?;
                self.query(subquery)
            }
            TableFactor::Function { lateral: _, name: _, args, with_ordinality, alias } => {
                refuse_if(*with_ordinality, "WITH ORDINALITY")?;
                optional_alias(alias.as_ref())?;
                args.iter_mut().try_for_each(|arg| self.table_argument(arg))
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset,
                with_offset_alias,
                with_ordinality,
            } => {
                refuse_if(*with_offset || with_offset_alias.is_some(), "UNNEST WITH OFFSET")?;
                refuse_if(*with_ordinality, "WITH ORDINALITY")?;
                optional_alias(alias.as_ref())?;
                self.exprs(array_exprs)
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                optional_alias(alias.as_ref())?;
                self.tables(table_with_joins)
            }
            TableFactor::TableFunction { expr: _, alias: _ } => refuse_if(true, "TABLE(…)"),
            TableFactor::JsonTable { .. } => refuse_if(true, "JSON_TABLE"),
            TableFactor::OpenJsonTable { .. } => refuse_if(true, "OPENJSON"),
            TableFactor::Pivot { .. } => refuse_if(true, "PIVOT"),
            TableFactor::Unpivot { .. } => refuse_if(true, "UNPIVOT"),
            TableFactor::MatchRecognize { .. } => refuse_if(true, "MATCH_RECOGNIZE"),
            TableFactor::XmlTable { .. } => refuse_if(true, "XMLTABLE"),
            TableFactor::SemanticView { .. } => refuse_if(true, "SEMANTIC_VIEW"),
        }
    }

    fn table_function(&mut self, args: &mut TableFunctionArgs) -> Checked {
        let TableFunctionArgs { args, settings } = args;
        refuse_if(settings.is_some(), "SETTINGS in a table function")?;
        args.iter_mut().try_for_each(|arg| self.table_argument(arg))
    }

    /// The engine takes the arguments of a table function by position only.
    fn table_argument(&mut self, arg: &mut FunctionArg) -> Checked {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => self.expr(expr),
            FunctionArg::Unnamed(_) => refuse_if(true, "* in a table function"),
            FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
                refuse_if(true, "a named argument of a table function")
            }
        }
    }
}
