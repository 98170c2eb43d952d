//! From a physical expression to the predicate that partitions are pruned with.
//!
//! The result may be wider than the expression, never narrower: whatever is not understood becomes
//! [`Predicate::True`]. Rows are always checked by the expression itself. Negation is pushed down on
//! the way, so that the predicate needs no NOT (whose meaning for NULL would be a trap).

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use peerage_partition::{ColumnId, Comparison, Predicate, Value};

/// Values of one IN list that are looked at; a longer list prunes by its range alone.
const IN_LIST_VALUES_MAX: usize = 1_000;

/// Expressions nested deeper than this are not looked at: the recursion is bounded.
const DEPTH_MAX: u32 = 64;

/// Converts expressions over one schema.
#[derive(Debug, Clone, Copy)]
pub struct FilterConverter<'a> {
    schema: &'a Schema,
    column_ids: &'a [ColumnId],
}

impl<'a> FilterConverter<'a> {
    /// Returns a converter for expressions over `schema`, whose columns have `column_ids`.
    #[must_use]
    pub const fn new(schema: &'a Schema, column_ids: &'a [ColumnId]) -> Self {
        Self { schema, column_ids }
    }

    /// Returns what `filters`, joined by AND, say about partitions at this moment.
    #[must_use]
    pub fn convert_all(&self, filters: &[Arc<dyn PhysicalExpr>]) -> Predicate {
        filters
            .iter()
            .fold(Predicate::True, |all, filter| Predicate::and(all, self.convert(filter)))
    }

    /// Returns what `filter` says about partitions at this moment; a dynamic filter is asked for its
    /// present state.
    #[must_use]
    pub fn convert(&self, filter: &Arc<dyn PhysicalExpr>) -> Predicate {
        match snapshot_physical_expr(Arc::clone(filter)) {
            Ok(filter) => self.convert_at(&filter, false, 0),
            Err(_unknown_state) => Predicate::True,
        }
    }

    fn convert_at(&self, filter: &Arc<dyn PhysicalExpr>, negated: bool, depth: u32) -> Predicate {
        if depth > DEPTH_MAX {
            return Predicate::True;
        }
        if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
            self.binary(binary, negated, depth)
        } else if let Some(not) = filter.downcast_ref::<NotExpr>() {
            self.convert_at(not.arg(), !negated, depth + 1)
        } else if let Some(is_null) = filter.downcast_ref::<IsNullExpr>() {
            self.null_test(is_null.arg(), !negated)
        } else if let Some(is_not_null) = filter.downcast_ref::<IsNotNullExpr>() {
            self.null_test(is_not_null.arg(), negated)
        } else if let Some(list) = filter.downcast_ref::<InListExpr>() {
            self.in_list(list, negated)
        } else if let Some(like) = filter.downcast_ref::<LikeExpr>() {
            self.like(like, negated)
        } else if let Some(literal) = filter.downcast_ref::<Literal>() {
            match literal.value() {
                ScalarValue::Boolean(Some(value)) if *value != negated => Predicate::True,
                ScalarValue::Boolean(_) | ScalarValue::Null => Predicate::False,
                _ => Predicate::True,
            }
        } else {
            self.bool_column(filter, negated)
        }
    }

    fn binary(&self, binary: &BinaryExpr, negated: bool, depth: u32) -> Predicate {
        let (left, right) = (binary.left(), binary.right());
        match (binary.op(), negated) {
            (Operator::And, false) | (Operator::Or, true) => Predicate::and(
                self.convert_at(left, negated, depth + 1),
                self.convert_at(right, negated, depth + 1),
            ),
            (Operator::Or, false) | (Operator::And, true) => Predicate::or(
                self.convert_at(left, negated, depth + 1),
                self.convert_at(right, negated, depth + 1),
            ),
            (op, _) => {
                let Some(op) = comparison(*op) else { return Predicate::True };
                let op = if negated { inverse(op) } else { op };
                if let Some(literal) = right.downcast_ref::<Literal>() {
                    self.compare(left, op, literal.value())
                } else if let Some(literal) = left.downcast_ref::<Literal>() {
                    self.compare(right, mirrored(op), literal.value())
                } else {
                    Predicate::True
                }
            }
        }
    }

    fn compare(
        &self,
        operand: &Arc<dyn PhysicalExpr>,
        op: Comparison,
        literal: &ScalarValue,
    ) -> Predicate {
        let Some((column, data_type)) = self.column(operand) else { return Predicate::True };
        if literal.is_null() {
            return Predicate::False;
        }
        value(literal, data_type).map_or(Predicate::True, |value| Predicate::Compare {
            column,
            op,
            value,
        })
    }

    fn in_list(&self, list: &InListExpr, negated: bool) -> Predicate {
        let Some((column, data_type)) = self.column(list.expr()) else { return Predicate::True };
        if list.len() > IN_LIST_VALUES_MAX {
            return Predicate::True;
        }
        let mut values = Vec::with_capacity(list.len());
        for item in list.list() {
            let Some(literal) = item.downcast_ref::<Literal>() else { return Predicate::True };
            if literal.value().is_null() {
                continue;
            }
            let Some(value) = value(literal.value(), data_type) else { return Predicate::True };
            values.push(value);
        }
        if list.negated() == negated {
            return Predicate::In { column, values };
        }
        values.into_iter().fold(Predicate::True, |all, value| {
            let differs = Predicate::Compare { column, op: Comparison::NotEq, value };
            Predicate::and(all, differs)
        })
    }

    fn like(&self, like: &LikeExpr, negated: bool) -> Predicate {
        if like.negated() != negated || like.case_insensitive() {
            return Predicate::True;
        }
        let Some((column, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)) =
            self.column(like.expr())
        else {
            return Predicate::True;
        };
        let pattern = like.pattern().downcast_ref::<Literal>().map(Literal::value);
        let Some(Some(pattern)) = pattern.and_then(|pattern| pattern.try_as_str()) else {
            return Predicate::True;
        };
        match pattern.find(['%', '_', '\\']) {
            None => Predicate::Compare {
                column,
                op: Comparison::Eq,
                value: Value::Bytes(pattern.as_bytes().to_vec()),
            },
            Some(0) => Predicate::True,
            Some(end) => {
                let prefix = pattern.as_bytes().iter().take(end).copied().collect();
                Predicate::StartsWith { column, prefix }
            }
        }
    }

    fn null_test(&self, operand: &Arc<dyn PhysicalExpr>, is_null: bool) -> Predicate {
        match operand.downcast_ref::<Column>().and_then(|column| self.column_at(column.index())) {
            Some((column, _)) if is_null => Predicate::IsNull(column),
            Some((column, _)) => Predicate::IsNotNull(column),
            None => Predicate::True,
        }
    }

    fn bool_column(&self, operand: &Arc<dyn PhysicalExpr>, negated: bool) -> Predicate {
        match self.column(operand) {
            Some((column, DataType::Boolean)) => {
                let value = Value::Bool(!negated);
                Predicate::Compare { column, op: Comparison::Eq, value }
            }
            _ => Predicate::True,
        }
    }

    /// Returns the column under `operand`; a cast that keeps order and equality is looked through.
    fn column(&self, operand: &Arc<dyn PhysicalExpr>) -> Option<(ColumnId, &'a DataType)> {
        if let Some(column) = operand.downcast_ref::<Column>() {
            return self.column_at(column.index());
        }
        let cast = operand.downcast_ref::<CastExpr>()?;
        let (column, from) = self.column_at(cast.expr().downcast_ref::<Column>()?.index())?;
        is_same_kind(from, cast.cast_type()).then_some((column, from))
    }

    fn column_at(&self, index: usize) -> Option<(ColumnId, &'a DataType)> {
        let column = *self.column_ids.get(index)?;
        Some((column, self.schema.fields().get(index)?.data_type()))
    }
}

/// Returns true when a value of `from`, cast to `to`, keeps the form that partitions compare.
fn is_same_kind(from: &DataType, to: &DataType) -> bool {
    let is_text = |data_type: &DataType| {
        matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    };
    if is_text(from) || from.is_integer() {
        return (is_text(from) && is_text(to))
            || (from.is_integer() && to.is_integer() && CastExpr::check_bigger_cast(to, from));
    }
    matches!((from, to), (DataType::Float32, DataType::Float64)) || from == to
}

/// Returns a literal in the form in which a column of `data_type` is compared.
fn value(literal: &ScalarValue, data_type: &DataType) -> Option<Value> {
    let is_int = data_type.is_integer();
    match literal {
        ScalarValue::Boolean(Some(value)) if *data_type == DataType::Boolean => {
            Some(Value::Bool(*value))
        }
        ScalarValue::Int8(Some(value)) if is_int => Some(Value::Int(i64::from(*value))),
        ScalarValue::Int16(Some(value)) if is_int => Some(Value::Int(i64::from(*value))),
        ScalarValue::Int32(Some(value)) if is_int => Some(Value::Int(i64::from(*value))),
        ScalarValue::Int64(Some(value)) if is_int => Some(Value::Int(*value)),
        ScalarValue::UInt8(Some(value)) if is_int => Some(Value::UInt(u64::from(*value))),
        ScalarValue::UInt16(Some(value)) if is_int => Some(Value::UInt(u64::from(*value))),
        ScalarValue::UInt32(Some(value)) if is_int => Some(Value::UInt(u64::from(*value))),
        ScalarValue::UInt64(Some(value)) if is_int => Some(Value::UInt(*value)),
        ScalarValue::Float32(Some(value)) if data_type.is_floating() => {
            Some(Value::Float(f64::from(*value)))
        }
        ScalarValue::Float64(Some(value)) if data_type.is_floating() => Some(Value::Float(*value)),
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
            if matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) =>
        {
            Some(Value::Bytes(text.as_bytes().to_vec()))
        }
        ScalarValue::Binary(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes))
        | ScalarValue::FixedSizeBinary(_, Some(bytes))
            if matches!(data_type, DataType::Binary | DataType::FixedSizeBinary(_)) =>
        {
            Some(Value::Bytes(bytes.clone()))
        }
        _ => time_value(literal, data_type),
    }
}

/// Returns a date, time or timestamp in the column's own unit.
fn time_value(literal: &ScalarValue, data_type: &DataType) -> Option<Value> {
    let same_unit = match (&literal.data_type(), data_type) {
        (DataType::Timestamp(left, _), DataType::Timestamp(right, _)) => left == right,
        (left, right) => left == right,
    };
    if !same_unit {
        return None;
    }
    match literal {
        ScalarValue::Date32(Some(value))
        | ScalarValue::Time32Second(Some(value))
        | ScalarValue::Time32Millisecond(Some(value)) => Some(Value::Int(i64::from(*value))),
        ScalarValue::Date64(Some(value))
        | ScalarValue::Time64Microsecond(Some(value))
        | ScalarValue::Time64Nanosecond(Some(value))
        | ScalarValue::TimestampSecond(Some(value), _)
        | ScalarValue::TimestampMillisecond(Some(value), _)
        | ScalarValue::TimestampMicrosecond(Some(value), _)
        | ScalarValue::TimestampNanosecond(Some(value), _) => Some(Value::Int(*value)),
        _ => None,
    }
}

const fn comparison(op: Operator) -> Option<Comparison> {
    match op {
        Operator::Eq => Some(Comparison::Eq),
        Operator::NotEq => Some(Comparison::NotEq),
        Operator::Lt => Some(Comparison::Lt),
        Operator::LtEq => Some(Comparison::LtEq),
        Operator::Gt => Some(Comparison::Gt),
        Operator::GtEq => Some(Comparison::GtEq),
        _ => None,
    }
}

/// Returns the comparison that holds exactly when `op` does not (NULL aside: it matches neither).
const fn inverse(op: Comparison) -> Comparison {
    match op {
        Comparison::Eq => Comparison::NotEq,
        Comparison::NotEq => Comparison::Eq,
        Comparison::Lt => Comparison::GtEq,
        Comparison::LtEq => Comparison::Gt,
        Comparison::Gt => Comparison::LtEq,
        Comparison::GtEq => Comparison::Lt,
    }
}

/// Returns the comparison with its sides exchanged.
const fn mirrored(op: Comparison) -> Comparison {
    match op {
        Comparison::Lt => Comparison::Gt,
        Comparison::LtEq => Comparison::GtEq,
        Comparison::Gt => Comparison::Lt,
        Comparison::GtEq => Comparison::LtEq,
        Comparison::Eq | Comparison::NotEq => op,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{Field, TimeUnit};
    use datafusion::common::{DFSchema, ToDFSchema};
    use datafusion::logical_expr::{Expr, cast, col, lit};
    use datafusion::prelude::SessionContext;
    use expect_test::{Expect, expect};

    use super::*;

    fn check(sql: &str, expected: Expect) {
        let parse = |context: &SessionContext, schema: &DFSchema| {
            context.parse_sql_expr(sql, schema).expect("parses")
        };
        check_expr(parse, expected);
    }

    fn check_expr(expr: impl FnOnce(&SessionContext, &DFSchema) -> Expr, expected: Expect) {
        let schema = Schema::new(vec![
            Field::new("a", DataType::Int32, true),
            Field::new("s", DataType::Utf8, true),
            Field::new("b", DataType::Boolean, true),
            Field::new("ts", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), false),
            Field::new("f", DataType::Float64, true),
        ]);
        let context = SessionContext::new();
        let df_schema = schema.clone().to_dfschema().expect("a valid schema");
        let expr = expr(&context, &df_schema);
        let expr = context.create_physical_expr(expr, &df_schema).expect("plans");
        let ids: Vec<_> = (1..=5).map(ColumnId).collect();
        let predicate = FilterConverter::new(&schema, &ids).convert(&expr);
        expected.assert_eq(&format!("{predicate:?}"));
    }

    #[test]
    fn comparisons_keep_their_side() {
        check("a > 5", expect!["Compare { column: ColumnId(1), op: Gt, value: Int(5) }"]);
        check("5 > a", expect!["Compare { column: ColumnId(1), op: Lt, value: Int(5) }"]);
        check("NOT (a > 5)", expect!["Compare { column: ColumnId(1), op: LtEq, value: Int(5) }"]);
        check("s = 'x'", expect!["Compare { column: ColumnId(2), op: Eq, value: Bytes([120]) }"]);
    }

    #[test]
    fn booleans_and_nulls() {
        check("b", expect!["Compare { column: ColumnId(3), op: Eq, value: Bool(true) }"]);
        check("NOT b", expect!["Compare { column: ColumnId(3), op: Eq, value: Bool(false) }"]);
        check("a IS NULL", expect!["IsNull(ColumnId(1))"]);
        check("NOT (a IS NULL)", expect!["IsNotNull(ColumnId(1))"]);
        check_expr(|_, _| col("a").eq(lit(ScalarValue::Int32(None))), expect!["False"]);
    }

    #[test]
    fn text_patterns_give_prefixes() {
        check("s LIKE 'ab%'", expect!["StartsWith { column: ColumnId(2), prefix: [97, 98] }"]);
        check("s LIKE '%ab'", expect!["True"]);
        check("s NOT LIKE 'ab%'", expect!["True"]);
        check("s ILIKE 'ab%'", expect!["True"]);
    }

    #[test]
    fn times_are_in_the_unit_of_the_column() {
        let zone = || Some("UTC".into());
        let us = ScalarValue::TimestampMicrosecond(Some(1_000_000), zone());
        check_expr(
            |_, _| col("ts").gt_eq(lit(us)),
            expect!["Compare { column: ColumnId(4), op: GtEq, value: Int(1000000) }"],
        );
        let ms = ScalarValue::TimestampMillisecond(Some(1_000), zone());
        let cast = cast(col("ts"), DataType::Timestamp(TimeUnit::Millisecond, zone()));
        check_expr(|_, _| cast.gt_eq(lit(ms)), expect!["True"]);
    }

    #[test]
    fn what_is_not_understood_matches_everything() {
        check("a + 1 = 5", expect!["True"]);
        check("a > 5 OR length(s) = 2", expect!["True"]);
        check(
            "a > 5 AND length(s) = 2",
            expect!["Compare { column: ColumnId(1), op: Gt, value: Int(5) }"],
        );
    }
}
