//! The dialect in which statements are read: the parser's ClickHouse dialect and what it lacks.
//!
//! It claims to be the parser's own one, so that the parser's special cases for ClickHouse hold. Added is
//! `FILTER (WHERE …)` after an aggregate.

use datafusion::sql::sqlparser::dialect::{ClickHouseDialect, Dialect};
use std::any::TypeId;

/// ClickHouse's SQL as it is read here.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct StatementDialect(ClickHouseDialect);

/// Passes questions on to the dialect underneath.
macro_rules! as_clickhouse {
    ($($question:ident)+) => {
        $(fn $question(&self) -> bool {
            self.0.$question()
        })+
    };
}

impl Dialect for StatementDialect {
    fn dialect(&self) -> TypeId {
        self.0.dialect()
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        self.0.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        self.0.is_identifier_part(ch)
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    as_clickhouse! {
        supports_string_literal_backslash_escape
        supports_select_wildcard_except
        describe_requires_table_keyword
        require_interval_qualifier
        supports_limit_comma
        supports_insert_table_function
        supports_insert_format
        supports_numeric_literal_underscores
        supports_partition_by_after_order_by
        supports_array_join_syntax
        supports_dictionary_syntax
        supports_lambda_functions
        supports_from_first_select
        supports_order_by_all
        supports_group_by_expr
        supports_group_by_with_modifier
        supports_nested_comments
        supports_optimize_table
        supports_prewhere
        supports_with_fill
        supports_limit_by
        supports_interpolate
        supports_settings
        supports_select_format
        supports_select_wildcard_replace
        supports_comma_separated_trim
    }
}
