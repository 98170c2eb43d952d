//! What a load will do, decided before the first row is read: the table as it will be, and how each
//! column gets there from each input.
//!
//! Invariants: deciding does no I/O; columns are matched by name; a column that an input does not
//! have is NULL; a type that can't fit is an error with the column, before any work is done.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use peerage_catalog::{NewColumn, NewTable, Table, TableDraft};
use peerage_partition::{PartitionSchema, normalise_type};

use crate::load::error::LoadError;
use crate::load::timestamp::{TimestampFormat, TimestampParser};
use crate::load::types::{may_cast, merge_types, widen_guess};

/// How the text formats are asked for UTC: by offset, which every decoder knows.
const UTC_OFFSET: &str = "+00:00";

/// What was seen at the start of one input.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    /// The input.
    pub(crate) input: Arc<str>,
    /// Whether the types are a guess from a sample of text.
    pub(crate) is_text: bool,
    /// The columns of the input.
    pub(crate) schema: SchemaRef,
}

/// What the request says about the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableWish<'a> {
    /// The database.
    pub(crate) database: &'a str,
    /// The table within it.
    pub(crate) table: &'a str,
    /// Columns whose types are given.
    pub(crate) given: &'a [(String, DataType)],
    /// The column that becomes the primary.
    pub(crate) timestamp: Option<&'a str>,
    /// How the primary is written.
    pub(crate) format: &'a TimestampFormat,
    /// The order of rows after the primary.
    pub(crate) sort_by: &'a [String],
}

/// The primary of the table and how text becomes its values.
#[derive(Clone, Debug)]
pub(crate) struct PlannedPrimary {
    /// The place among the columns.
    pub(crate) index: usize,
    /// The reader of text and numbers.
    pub(crate) parser: TimestampParser,
}

/// The table as the load makes it.
#[derive(Clone, Debug)]
pub(crate) struct LoadPlan {
    /// The table, new or extended.
    pub(crate) draft: TableDraft,
    /// Names of the columns that are added to an existing table.
    pub(crate) added: Vec<String>,
    /// The columns of the table.
    pub(crate) schema: SchemaRef,
    /// The same for the partition writer.
    pub(crate) partition_schema: PartitionSchema,
    /// The primary, if the table has one.
    pub(crate) primary: Option<PlannedPrimary>,
    /// The places of the sort columns.
    pub(crate) sort: Vec<usize>,
}

impl LoadPlan {
    /// Decides for a table that exists or not.
    pub(crate) fn new(
        wish: &TableWish<'_>,
        existing: Option<&Table>,
        probes: &[Probe],
    ) -> Result<Self, LoadError> {
        let (draft, added) = match existing {
            Some(table) => extend(wish, table, probes)?,
            None => (create(wish, probes)?, Vec::new()),
        };
        let schema = draft.arrow_schema();
        let primary = planned_primary(wish, &draft)?;
        if let Some(primary) = &primary {
            let name = schema.field(primary.index).name();
            check_primary_inputs(wish.format, name, probes)?;
        }
        let place = |id| draft.columns().iter().position(|column| column.id == id);
        let sort = draft.sort_by().iter().filter_map(|id| place(*id)).collect();
        let partition_schema = draft.partition_schema()?;
        Ok(Self { added, schema, partition_schema, primary, sort, draft })
    }

    /// Returns the place of a column in the table.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.schema.index_of(name).ok()
    }

    /// Returns the types that the fields of a CSV file are decoded to.
    pub(crate) fn csv_schema(&self, input: &str, header: &Schema) -> Result<SchemaRef, LoadError> {
        let field = |field: &Arc<Field>| {
            let name = field.name();
            let index = self.column(name).ok_or_else(|| {
                LoadError::input(
                    input,
                    format!("column {name} appeared after the file was looked at"),
                )
            })?;
            let data_type = self.decode_type(index);
            if data_type.is_nested() {
                let hint = "NDJSON or Parquet for nested values";
                return Err(LoadError::request(
                    format!("column {name} has type {data_type}, which CSV can't hold"),
                    hint,
                ));
            }
            Ok(Field::new(name, data_type, true))
        };
        let fields = header.fields().iter().map(field).collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(Schema::new(fields)))
    }

    /// Returns the types that the keys of JSON objects are decoded to.
    pub(crate) fn json_schema(&self) -> SchemaRef {
        let fields = self.schema.fields().iter().enumerate();
        let fields: Vec<Field> = fields
            .map(|(index, field)| Field::new(field.name(), self.decode_type(index), true))
            .collect();
        Arc::new(Schema::new(fields))
    }

    /// Returns the type that text of this column is decoded to before it is converted.
    fn decode_type(&self, index: usize) -> DataType {
        if self.primary.as_ref().is_some_and(|primary| primary.index == index) {
            return DataType::Utf8;
        }
        match self.schema.field(index).data_type() {
            DataType::Timestamp(unit, Some(_)) => {
                DataType::Timestamp(*unit, Some(UTC_OFFSET.into()))
            }
            DataType::Binary | DataType::FixedSizeBinary(_) => DataType::Utf8,
            other => other.clone(),
        }
    }
}

/// Decides about a table that is to be created.
fn create(wish: &TableWish<'_>, probes: &[Probe]) -> Result<TableDraft, LoadError> {
    let mut columns = merged_columns(wish, None, probes)?;
    if let Some(name) = wish.timestamp {
        let Some((_, data_type)) = columns.iter_mut().find(|(column, _)| column == name) else {
            let known = columns.iter().map(|(column, _)| column.as_str()).collect::<Vec<_>>();
            return Err(LoadError::request(
                format!("the timestamp column {name} is not in the input"),
                format!("--timestamp with one of: {}", known.join(", ")),
            ));
        };
        *data_type = primary_type(wish, name, probes)?;
    }
    let columns = columns
        .into_iter()
        .map(|(name, data_type)| {
            let nullable = wish.timestamp != Some(name.as_str());
            NewColumn::new(name, data_type, nullable)
        })
        .collect();
    let table = NewTable {
        database: wish.database.to_owned(),
        name: wish.table.to_owned(),
        columns,
        primary: wish.timestamp.map(ToOwned::to_owned),
        sort_by: wish.sort_by.to_vec(),
        settings: std::collections::BTreeMap::new(),
    };
    Ok(TableDraft::create(table)?)
}

/// Decides about a table that exists: its types win, what it does not have is added.
fn extend(
    wish: &TableWish<'_>,
    table: &Table,
    probes: &[Probe],
) -> Result<(TableDraft, Vec<String>), LoadError> {
    check_same_order(wish, table)?;
    let mut draft = TableDraft::extend(table);
    let mut added = Vec::new();
    for (name, data_type) in merged_columns(wish, Some(table), probes)? {
        if table.column(&name).is_none() {
            draft.add_column(NewColumn::new(&name, data_type, true))?;
            added.push(name);
        }
    }
    Ok((draft, added))
}

/// Refuses a request that names another primary or order than the table has.
fn check_same_order(wish: &TableWish<'_>, table: &Table) -> Result<(), LoadError> {
    let primary = table.primary_column().map(|column| column.name.as_str());
    if let Some(wanted) = wish.timestamp
        && primary != Some(wanted)
    {
        let has =
            primary.map_or("no primary timestamp".to_owned(), |name| format!("primary {name}"));
        return Err(LoadError::request(
            format!("table {} has {has}, not {wanted}", table.qualified_name()),
            "without --timestamp, or another table",
        ));
    }
    let order: Vec<&str> = table
        .sort_by
        .iter()
        .filter_map(|id| table.column_by_id(*id))
        .map(|column| column.name.as_str())
        .collect();
    if !wish.sort_by.is_empty() && wish.sort_by != order {
        return Err(LoadError::request(
            format!("table {} is sorted by '{}'", table.qualified_name(), order.join(",")),
            "without --sort-by, or another table",
        ));
    }
    Ok(())
}

/// Returns the columns of all inputs with the types that hold them: the table's, the given one, or
/// what the inputs agree on. The given ones come first, then those of the inputs in the order of
/// their appearance.
fn merged_columns(
    wish: &TableWish<'_>,
    table: Option<&Table>,
    probes: &[Probe],
) -> Result<Vec<(String, DataType)>, LoadError> {
    let mut columns = Vec::new();
    for (name, data_type) in wish.given {
        let known = table.and_then(|table| table.column(name));
        if let Some(known) = known.filter(|known| known.data_type != *data_type) {
            return Err(LoadError::request(
                format!("column {name} is {} in the table, not {data_type}", known.data_type),
                "the type of the table",
            ));
        }
        let (name, data_type) = (name.clone(), data_type.clone());
        columns.push(MergedColumn { name, data_type, is_fixed: true, is_text: false });
    }
    let primary = table.and_then(Table::primary_column).map(|column| column.name.as_str());
    let primary = primary.or(wish.timestamp);
    for probe in probes {
        for field in probe.schema.fields() {
            let of_table = table.and_then(|table| table.column(field.name()));
            let of_table = of_table.map(|column| &column.data_type);
            let is_primary = primary == Some(field.name().as_str());
            merge_field(&mut columns, probe, field, of_table, is_primary)?;
        }
    }
    Ok(columns.into_iter().map(MergedColumn::finish).collect())
}

/// A column while the inputs are merged.
struct MergedColumn {
    name: String,
    data_type: DataType,
    /// The type is given or the table's: inputs have to fit.
    is_fixed: bool,
    /// All inputs so far are text.
    is_text: bool,
}

impl MergedColumn {
    /// Returns name and type; a column without any value becomes text.
    fn finish(self) -> (String, DataType) {
        let data_type = match self.data_type {
            DataType::Null => DataType::Utf8,
            known => known,
        };
        (self.name, data_type)
    }
}

/// Adds a field of one input to what is known of the columns. The primary is not merged here: it is
/// parsed, whatever its type in the input.
fn merge_field(
    columns: &mut Vec<MergedColumn>,
    probe: &Probe,
    field: &Field,
    of_table: Option<&DataType>,
    is_primary: bool,
) -> Result<(), LoadError> {
    let name = field.name();
    let normal = normalise_type(field.data_type())
        .map_err(|error| LoadError::input(&*probe.input, format!("column {name}: {error}")))?;
    let seen = if probe.is_text { widen_guess(&normal) } else { normal };
    let place = columns.iter().position(|column| column.name == *name);
    let place = place.unwrap_or_else(|| {
        let (data_type, is_fixed) =
            of_table.map_or((DataType::Null, false), |of| (of.clone(), true));
        columns.push(MergedColumn {
            name: name.clone(),
            data_type,
            is_fixed,
            is_text: probe.is_text,
        });
        columns.len() - 1
    });
    let Some(known) = columns.get_mut(place).filter(|_| !is_primary) else { return Ok(()) };
    if known.is_fixed {
        return check_fits(known, probe, &seen);
    }
    let both_text = known.is_text && probe.is_text;
    let merged = merge_types(&known.data_type, &seen, both_text).ok_or_else(|| {
        LoadError::request(
            format!(
                "column {name} is {seen} in {} and {} in an input before",
                probe.input, known.data_type
            ),
            format!("--schema '{name} TYPE', or one load per kind of file"),
        )
    })?;
    known.data_type = merged;
    known.is_text = both_text;
    Ok(())
}

/// Refuses an input whose type can't be loaded into the fixed type of the column. Text is always
/// tried, value by value.
fn check_fits(column: &MergedColumn, probe: &Probe, seen: &DataType) -> Result<(), LoadError> {
    if probe.is_text || may_cast(seen, &column.data_type) {
        return Ok(());
    }
    Err(LoadError::request(
        format!(
            "column {} is {seen} in {}, which does not fit {}",
            column.name, probe.input, column.data_type
        ),
        "another table, or cast the column in the file",
    ))
}

/// Returns the type of a new table's primary.
fn primary_type(wish: &TableWish<'_>, name: &str, probes: &[Probe]) -> Result<DataType, LoadError> {
    if let Some((_, given)) = wish.given.iter().find(|(column, _)| column == name) {
        return Ok(given.clone());
    }
    let mut merged = DataType::Null;
    for probe in probes {
        let Ok(field) = probe.schema.field_with_name(name) else { continue };
        let seen = primary_type_of(wish.format, name, field.data_type(), probe)?;
        merged = merge_types(&merged, &seen, false).ok_or_else(|| {
            LoadError::request(
                format!(
                    "column {name} is {seen} in {} and {merged} in an input before",
                    probe.input
                ),
                format!("--schema '{name} timestamp'"),
            )
        })?;
    }
    Ok(merged)
}

/// Returns the type that one input suggests for the primary.
fn primary_type_of(
    format: &TimestampFormat,
    name: &str,
    seen: &DataType,
    probe: &Probe,
) -> Result<DataType, LoadError> {
    let utc = |unit: TimeUnit| DataType::Timestamp(unit, Some("UTC".into()));
    let seen = match seen {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    Ok(match (seen, format) {
        (DataType::Timestamp(..) | DataType::Date32 | DataType::Date64, _) if !probe.is_text => {
            seen.clone()
        }
        (DataType::Float64, TimestampFormat::Epoch(unit)) if probe.is_text => {
            utc(*unit.max(&TimeUnit::Microsecond))
        }
        (seen, TimestampFormat::Epoch(unit)) if probe.is_text || seen.is_integer() => utc(*unit),
        (DataType::Date32, TimestampFormat::Auto) => DataType::Date32,
        (DataType::Timestamp(TimeUnit::Nanosecond, _), _) => utc(TimeUnit::Nanosecond),
        (seen, _) if seen.is_numeric() || seen.is_nested() => {
            return Err(not_a_time(name, seen, &probe.input));
        }
        (DataType::Boolean, _) => return Err(not_a_time(name, seen, &probe.input)),
        _ => utc(TimeUnit::Microsecond),
    })
}

/// Returns the error that a column can't be read as points in time.
fn not_a_time(name: &str, seen: &DataType, input: &str) -> LoadError {
    LoadError::request(
        format!("the timestamp column {name} is {seen} in {input}"),
        "--timestamp-format epoch_s, epoch_ms, epoch_us or epoch_ns, whichever the numbers count",
    )
}

/// Refuses inputs without the primary, or with numbers whose unit is not known.
fn check_primary_inputs(
    format: &TimestampFormat,
    name: &str,
    probes: &[Probe],
) -> Result<(), LoadError> {
    for probe in probes {
        let Ok(field) = probe.schema.field_with_name(name) else {
            return Err(LoadError::input(
                &*probe.input,
                format!("there is no column {name}, the primary timestamp of the table"),
            ));
        };
        primary_type_of(format, name, field.data_type(), probe)?;
    }
    Ok(())
}

/// Returns the primary of the draft with the parser for its type.
fn planned_primary(
    wish: &TableWish<'_>,
    draft: &TableDraft,
) -> Result<Option<PlannedPrimary>, LoadError> {
    let Some(column) = draft.primary_column() else { return Ok(None) };
    let index = draft.columns().iter().position(|known| known.id == column.id).unwrap_or_default();
    let parser = TimestampParser::new(wish.format.clone(), column.data_type.clone())
        .map_err(|problem| LoadError::request(problem, "--timestamp-format auto"))?;
    Ok(Some(PlannedPrimary { index, parser }))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn probe(input: &str, is_text: bool, columns: &[(&str, DataType)]) -> Probe {
        let field =
            |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), true);
        let fields: Vec<Field> = columns.iter().map(field).collect();
        Probe { input: input.into(), is_text, schema: Arc::new(Schema::new(fields)) }
    }

    const AUTO: TimestampFormat = TimestampFormat::Auto;
    const SECONDS: TimestampFormat = TimestampFormat::Epoch(TimeUnit::Second);

    fn wish<'a>(timestamp: Option<&'a str>, format: &'a TimestampFormat) -> TableWish<'a> {
        TableWish { database: "db", table: "t", given: &[], timestamp, format, sort_by: &[] }
    }

    fn check(wish: &TableWish<'_>, probes: &[Probe], expected: Expect) {
        let shown = match LoadPlan::new(wish, None, probes) {
            Ok(plan) => plan
                .schema
                .fields()
                .iter()
                .map(|field| {
                    let mark = if field.is_nullable() { "" } else { "!" };
                    format!("{} {}{mark}", field.name(), field.data_type())
                })
                .collect::<Vec<_>>()
                .join("; "),
            Err(error) => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                format!("{error} {}", source.unwrap_or_default()).trim_end().to_owned()
            }
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn inputs_are_merged_by_name() {
        let first = probe("a.csv", true, &[("x", DataType::Int64), ("y", DataType::Null)]);
        let second = probe("b.csv", true, &[("z", DataType::Boolean), ("x", DataType::Float64)]);
        check(
            &wish(None, &AUTO),
            &[first.clone(), second],
            expect!["x Float64; y Utf8; z Boolean"],
        );
        let parquet = probe("c.parquet", false, &[("x", DataType::Utf8)]);
        check(
            &wish(None, &AUTO),
            &[first, parquet],
            expect!["column x is Utf8 in c.parquet and Int64 in an input before"],
        );
    }

    #[test]
    fn given_types_win() {
        let given = vec![("y".to_owned(), DataType::Int8), ("n".to_owned(), DataType::Utf8)];
        let wish = TableWish { given: &given, ..wish(None, &AUTO) };
        let csv = probe("a.csv", true, &[("x", DataType::Int64), ("y", DataType::Utf8)]);
        check(&wish, &[csv], expect!["y Int8; n Utf8; x Int64"]);
        let parquet = probe("a.parquet", false, &[("y", DataType::Utf8)]);
        check(&wish, &[parquet], expect!["column y is Utf8 in a.parquet, which does not fit Int8"]);
    }

    #[test]
    fn the_primary_gets_a_type_of_time() {
        let of = |is_text, data_type| [probe("f", is_text, &[("ts", data_type)])];
        let ts = Some("ts");
        check(
            &wish(ts, &AUTO),
            &of(true, DataType::Utf8),
            expect![[r#"ts Timestamp(µs, "UTC")!"#]],
        );
        check(&wish(ts, &AUTO), &of(true, DataType::Date32), expect!["ts Date32!"]);
        let seconds = DataType::Timestamp(TimeUnit::Second, None);
        check(
            &wish(ts, &AUTO),
            &of(true, seconds.clone()),
            expect![[r#"ts Timestamp(µs, "UTC")!"#]],
        );
        check(&wish(ts, &AUTO), &of(false, seconds), expect!["ts Timestamp(s)!"]);
        check(
            &wish(ts, &SECONDS),
            &of(true, DataType::Int64),
            expect![[r#"ts Timestamp(s, "UTC")!"#]],
        );
        check(
            &wish(ts, &SECONDS),
            &of(true, DataType::Float64),
            expect![[r#"ts Timestamp(µs, "UTC")!"#]],
        );
        check(
            &wish(ts, &SECONDS),
            &of(false, DataType::Int32),
            expect![[r#"ts Timestamp(s, "UTC")!"#]],
        );
        check(
            &wish(ts, &AUTO),
            &of(false, DataType::Int64),
            expect!["the timestamp column ts is Int64 in f"],
        );
        check(
            &wish(Some("time"), &AUTO),
            &of(true, DataType::Utf8),
            expect!["the timestamp column time is not in the input"],
        );
    }

    #[test]
    fn an_input_without_the_primary_is_refused() {
        let with = probe("a.csv", true, &[("ts", DataType::Utf8)]);
        let without = probe("b.csv", true, &[("x", DataType::Utf8)]);
        check(
            &wish(Some("ts"), &AUTO),
            &[with, without],
            expect!["read b.csv there is no column ts, the primary timestamp of the table"],
        );
    }

    #[test]
    fn types_that_no_partition_stores_are_refused() {
        let odd = probe("a.parquet", false, &[("d", DataType::Duration(TimeUnit::Second))]);
        check(
            &wish(None, &AUTO),
            &[odd],
            expect!["read a.parquet column d: type Duration(s) is not supported"],
        );
    }
}
