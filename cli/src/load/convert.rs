//! Turning decoded rows into rows of the table.
//!
//! Invariants: the answer has exactly the columns of the plan, in its order; a value that does not
//! fit is a fault of its row and never silently NULL or cut off; the primary is never NULL.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, StringArray, make_array,
    new_null_array,
};
use arrow::compute::{CastOptions, cast, cast_with_options, filter_record_batch};
use arrow::datatypes::{DataType, Field, Int64Type, TimeUnit};
use arrow::error::ArrowError;
use arrow::util::display::array_value_to_string;

use crate::load::bad_row::RowFault;
use crate::load::plan::{LoadPlan, PlannedPrimary};
use crate::load::timestamp::units_per_second;

/// Rows of the table, and what is wrong with the others.
#[derive(Debug)]
pub(crate) struct Converted {
    /// The good rows.
    pub(crate) batch: RecordBatch,
    /// The bad rows of the input batch, with the first fault of each.
    pub(crate) faults: BTreeMap<usize, RowFault>,
}

/// Converts decoded rows.
pub(crate) fn convert(plan: &LoadPlan, input: &RecordBatch) -> Result<Converted, ArrowError> {
    let mut faults = BTreeMap::new();
    let mut columns = Vec::with_capacity(plan.schema.fields().len());
    for (index, field) in plan.schema.fields().iter().enumerate() {
        let primary = plan.primary.as_ref().filter(|primary| primary.index == index);
        let found = input.column_by_name(field.name());
        let column = match (found, primary) {
            (None, _) => new_null_array(field.data_type(), input.num_rows()),
            (Some(array), Some(primary)) => convert_primary(primary, field, array, &mut faults)?,
            (Some(array), None) => convert_column(field, array, &mut faults)?,
        };
        if !field.is_nullable() {
            refuse_nulls(field, &column, primary.is_some(), &mut faults);
        }
        columns.push(column);
    }
    let batch = if faults.is_empty() {
        RecordBatch::try_new(Arc::clone(&plan.schema), columns)?
    } else {
        without_bad_rows(plan, columns, &faults)?
    };
    Ok(Converted { batch, faults })
}

/// Returns the columns without the rows that have a fault.
fn without_bad_rows(
    plan: &LoadPlan,
    columns: Vec<ArrayRef>,
    faults: &BTreeMap<usize, RowFault>,
) -> Result<RecordBatch, ArrowError> {
    // The bad rows may be NULL where that is not allowed: the schema holds only afterwards.
    let loose = |field: &Arc<Field>| field.as_ref().clone().with_nullable(true);
    let fields: Vec<Field> = plan.schema.fields().iter().map(loose).collect();
    let batch = RecordBatch::try_new(Arc::new(arrow::datatypes::Schema::new(fields)), columns)?;
    let good: BooleanArray =
        (0..batch.num_rows()).map(|row| Some(!faults.contains_key(&row))).collect();
    let batch = filter_record_batch(&batch, &good)?;
    RecordBatch::try_new(Arc::clone(&plan.schema), batch.columns().to_vec())
}

/// Converts the primary: text by the parser, numbers by their unit, points in time as they are.
fn convert_primary(
    primary: &PlannedPrimary,
    field: &Field,
    array: &ArrayRef,
    faults: &mut BTreeMap<usize, RowFault>,
) -> Result<ArrayRef, ArrowError> {
    let array = decoded_dictionary(array)?;
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = cast(&array, &DataType::Utf8)?;
            parse_texts(primary, field, texts.as_string::<i32>(), faults)
        }
        data_type if data_type.is_integer() => {
            let unit = primary.parser.epoch_unit().unwrap_or(TimeUnit::Second);
            let numbers = cast_with_options(&array, &DataType::Int64, &CHECKED)?;
            let scaled = match field.data_type() {
                DataType::Timestamp(target, _) => rescale(numbers.as_primitive(), unit, *target),
                _ => rescale(numbers.as_primitive(), unit, TimeUnit::Millisecond),
            };
            let times = match field.data_type() {
                DataType::Timestamp(..) => retyped(&scaled, field.data_type())?,
                date => {
                    let millis = DataType::Timestamp(TimeUnit::Millisecond, None);
                    cast(&retyped(&scaled, &millis)?, date)?
                }
            };
            refuse_new_nulls(field, &array, &times, faults);
            Ok(times)
        }
        _ => convert_column(field, &array, faults),
    }
}

/// Parses the texts of the primary; equal neighbours, which logs have many of, are parsed once.
fn parse_texts(
    primary: &PlannedPrimary,
    field: &Field,
    texts: &StringArray,
    faults: &mut BTreeMap<usize, RowFault>,
) -> Result<ArrayRef, ArrowError> {
    let mut last: Option<(&str, i64)> = None;
    let mut values = Vec::with_capacity(texts.len());
    for (row, text) in texts.iter().enumerate() {
        let Some(text) = text else {
            values.push(None);
            continue;
        };
        let parsed = match last {
            Some((known, value)) if known == text => Ok(value),
            _ => primary.parser.parse(text),
        };
        match parsed {
            Ok(value) => {
                last = Some((text, value));
                values.push(Some(value));
            }
            Err(reason) => {
                faults.entry(row).or_insert_with(|| RowFault::of_value(field.name(), text, reason));
                values.push(None);
            }
        }
    }
    let numbers = Int64Array::from(values);
    match field.data_type() {
        DataType::Date32 => cast(&cast(&numbers, &DataType::Int32)?, &DataType::Date32),
        other => retyped(&numbers, other),
    }
}

/// A cast that gives NULL where a value does not fit.
const CHECKED: CastOptions<'static> =
    CastOptions { safe: true, format_options: arrow::util::display::FormatOptions::new() };

/// Converts a column that is not the primary.
fn convert_column(
    field: &Field,
    array: &ArrayRef,
    faults: &mut BTreeMap<usize, RowFault>,
) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == field.data_type() {
        return Ok(Arc::clone(array));
    }
    let converted = match (array.data_type(), field.data_type()) {
        (DataType::Timestamp(from, _), DataType::Timestamp(to, _)) => {
            let numbers = cast(array, &DataType::Int64)?;
            retyped(&rescale(numbers.as_primitive(), *from, *to), field.data_type())?
        }
        (_, DataType::Timestamp(unit, Some(_))) if array.data_type().is_temporal() => {
            let plain = DataType::Timestamp(*unit, None);
            retyped(&cast_with_options(array, &plain, &CHECKED)?, field.data_type())?
        }
        (_, to) if to.is_nested() => {
            // Faults inside a nested value are not told by row: the whole batch is refused.
            let strict = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(array, to, &strict)?
        }
        (_, to) => cast_with_options(array, to, &CHECKED)?,
    };
    refuse_new_nulls(field, array, &converted, faults);
    Ok(converted)
}

/// Returns the values of a dictionary, other arrays as they are.
fn decoded_dictionary(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values),
        _ => Ok(Arc::clone(array)),
    }
}

/// Converts between units of time, towards the past; NULL where the value does not fit.
fn rescale(numbers: &Int64Array, from: TimeUnit, to: TimeUnit) -> Int64Array {
    let (from, to) = (units_per_second(from), units_per_second(to));
    if from <= to {
        numbers.unary_opt::<_, Int64Type>(|value| value.checked_mul(to / from))
    } else {
        numbers.unary(|value| value.div_euclid(from / to))
    }
}

/// Returns the same numbers under another type of the same width.
fn retyped(numbers: &dyn Array, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    let data = numbers.to_data().into_builder().data_type(data_type.clone()).build()?;
    Ok(make_array(data))
}

/// Adds a fault for each value that became NULL.
fn refuse_new_nulls(
    field: &Field,
    before: &ArrayRef,
    after: &ArrayRef,
    faults: &mut BTreeMap<usize, RowFault>,
) {
    if after.null_count() <= before.null_count() {
        return;
    }
    for row in (0..after.len()).filter(|row| after.is_null(*row) && before.is_valid(*row)) {
        faults.entry(row).or_insert_with(|| {
            let value = array_value_to_string(before, row).unwrap_or_default();
            RowFault::of_value(field.name(), value, format!("does not fit {}", field.data_type()))
        });
    }
}

/// Adds a fault for each NULL of a column that must have a value.
fn refuse_nulls(
    field: &Field,
    column: &ArrayRef,
    is_primary: bool,
    faults: &mut BTreeMap<usize, RowFault>,
) {
    if column.null_count() == 0 {
        return;
    }
    let role = if is_primary { "the primary timestamp" } else { "a column that is not nullable" };
    for row in (0..column.len()).filter(|row| column.is_null(*row)) {
        faults.entry(row).or_insert_with(|| RowFault {
            column: Some(field.name().clone()),
            value: None,
            reason: format!("no value for {role}"),
        });
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, TimestampSecondArray};
    use arrow::datatypes::Schema;
    use arrow::util::pretty::pretty_format_batches;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::load::plan::{Probe, TableWish};
    use crate::load::timestamp::TimestampFormat;

    fn check(
        given: &[(&str, DataType)],
        format: TimestampFormat,
        columns: Vec<(&str, ArrayRef)>,
        expected: Expect,
    ) {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .expect("batch");
        let given: Vec<(String, DataType)> =
            given.iter().map(|(name, data_type)| ((*name).to_owned(), data_type.clone())).collect();
        let wish = TableWish {
            database: "db",
            table: "t",
            given: &given,
            timestamp: Some("ts"),
            format: &format,
            sort_by: &[],
        };
        let probe = Probe { input: "f".into(), is_text: false, schema: batch.schema() };
        let plan = LoadPlan::new(&wish, None, &[probe]).expect("plan");
        let converted = convert(&plan, &batch).expect("converted");
        let mut shown = pretty_format_batches(&[converted.batch]).expect("table").to_string();
        for (row, fault) in converted.faults {
            shown += &format!("\n{row}: {fault}");
        }
        expected.assert_eq(&shown);
    }

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    #[test]
    fn values_that_do_not_fit_are_faults_of_their_row() {
        check(
            &[("n", DataType::Int8), ("missing", DataType::Utf8)],
            TimestampFormat::Auto,
            vec![
                (
                    "ts",
                    texts(&[Some("2015-05-17T10:05:03Z"), Some("soon"), None, Some("2015-05-17")]),
                ),
                ("n", Arc::new(Int32Array::from(vec![1, 2, 3, 300]))),
            ],
            expect![[r#"
                +---+---------+----------------------+
                | n | missing | ts                   |
                +---+---------+----------------------+
                | 1 |         | 2015-05-17T10:05:03Z |
                +---+---------+----------------------+
                1: column ts: 'soon': not a timestamp in a known form
                2: column ts: no value for the primary timestamp
                3: column n: '300': does not fit Int8"#]],
        );
    }

    #[test]
    fn numbers_and_times_become_the_type_of_the_primary() {
        check(
            &[("ts", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())))],
            TimestampFormat::Epoch(TimeUnit::Second),
            vec![("ts", Arc::new(Int64Array::from(vec![Some(1), Some(i64::MAX), None])))],
            expect![[r#"
                +----------------------+
                | ts                   |
                +----------------------+
                | 1970-01-01T00:00:01Z |
                +----------------------+
                1: column ts: '9223372036854775807': does not fit Timestamp(ns, "UTC")
                2: column ts: no value for the primary timestamp"#]],
        );
        check(
            &[("ts", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())))],
            TimestampFormat::Auto,
            vec![("ts", Arc::new(TimestampSecondArray::from(vec![-1, 1])))],
            expect![[r#"
                +----------------------+
                | ts                   |
                +----------------------+
                | 1969-12-31T23:59:59Z |
                | 1970-01-01T00:00:01Z |
                +----------------------+"#]],
        );
    }

    #[test]
    fn the_schema_is_exactly_the_plan() {
        let schema = Schema::new(vec![Field::new("ts", DataType::Date32, true)]);
        let batch = RecordBatch::new_empty(Arc::new(schema));
        let wish = TableWish {
            database: "db",
            table: "t",
            given: &[],
            timestamp: Some("ts"),
            format: &TimestampFormat::Auto,
            sort_by: &[],
        };
        let probe = Probe { input: "f".into(), is_text: false, schema: batch.schema() };
        let plan = LoadPlan::new(&wish, None, &[probe]).expect("plan");
        let converted = convert(&plan, &batch).expect("converted");
        assert_eq!(converted.batch.schema(), plan.schema);
        assert!(!plan.schema.field(0).is_nullable());
    }
}
