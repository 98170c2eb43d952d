//! The columns of a partition: stable ids, names at writing time, and the types that are stored.
//!
//! Invariant: ids and names are unique, every type is in its normal form, and the primary, where
//! there is one, is a timestamp or a date. Left out: renames and dropped columns, which the catalog
//! knows; a partition keeps the names under which it was written.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};

use crate::error::SchemaError;

/// The id of a column in its table. It outlives renames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);

impl fmt::Display for ColumnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A column of a partition. The field's name is the one at writing time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionColumn {
    /// The id in the table.
    pub id: ColumnId,
    /// Name, type and nullability.
    pub field: Field,
}

/// The checked columns of a partition, in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSchema {
    columns: Vec<PartitionColumn>,
    primary: Option<ColumnId>,
    arrow: SchemaRef,
}

impl PartitionSchema {
    /// Returns the schema of these columns, sorted by `primary` where there is one.
    ///
    /// # Errors
    /// If ids or names repeat, a type is not in its normal form (see [`normalise_type`]), or the
    /// primary is missing or neither a timestamp nor a date.
    pub fn try_new(
        columns: Vec<PartitionColumn>,
        primary: Option<ColumnId>,
    ) -> Result<Self, SchemaError> {
        if columns.is_empty() {
            return Err(SchemaError::NoColumns);
        }
        let mut ids = HashSet::new();
        let mut names = HashSet::new();
        for column in &columns {
            if !ids.insert(column.id) {
                return Err(SchemaError::DuplicateId { id: column.id });
            }
            if !names.insert(column.field.name().as_str()) {
                return Err(SchemaError::DuplicateName { name: column.field.name().clone() });
            }
            check_normal(&column.field)?;
        }
        if let Some(id) = primary {
            check_primary(&columns, id)?;
        }
        let fields: Fields = columns.iter().map(|column| column.field.clone()).collect();
        Ok(Self { columns, primary, arrow: Arc::new(Schema::new(fields)) })
    }

    /// Returns the columns in the order in which they are written.
    #[must_use]
    pub fn columns(&self) -> &[PartitionColumn] {
        &self.columns
    }

    /// Returns the id of the column by which the rows are sorted.
    #[must_use]
    pub fn primary(&self) -> Option<ColumnId> {
        self.primary
    }

    /// Returns the place of the primary among the columns.
    #[must_use]
    pub fn primary_index(&self) -> Option<usize> {
        self.index_of(self.primary?)
    }

    /// Returns the place of a column.
    #[must_use]
    pub fn index_of(&self, id: ColumnId) -> Option<usize> {
        self.columns.iter().position(|column| column.id == id)
    }

    /// Returns the column with this id.
    #[must_use]
    pub fn column(&self, id: ColumnId) -> Option<&PartitionColumn> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// Returns the Arrow schema of the data file.
    #[must_use]
    pub fn arrow_schema(&self) -> SchemaRef {
        Arc::clone(&self.arrow)
    }
}

fn check_normal(field: &Field) -> Result<(), SchemaError> {
    let normal = normalise_type(field.data_type())?;
    if normal == *field.data_type() {
        return Ok(());
    }
    let (name, data_type) = (field.name().clone(), field.data_type().clone());
    Err(SchemaError::NotNormal { name, data_type, normal })
}

fn check_primary(columns: &[PartitionColumn], id: ColumnId) -> Result<(), SchemaError> {
    let field = columns
        .iter()
        .find(|column| column.id == id)
        .map(|column| &column.field)
        .ok_or(SchemaError::PrimaryMissing { id })?;
    match field.data_type() {
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => Ok(()),
        other => {
            let (name, data_type) = (field.name().clone(), other.clone());
            Err(SchemaError::PrimaryType { name, data_type })
        }
    }
}

/// The deepest nesting of a column's type. Every level costs two of the hundred that a protobuf
/// decoder follows, so that each manifest that is written can be read.
pub(crate) const TYPE_DEPTH_MAX: u32 = 32;

/// Returns the type in which a partition stores values of `data_type`; a cast leads there.
///
/// Large and view variants become the plain ones, dictionaries their values, small decimals
/// `Decimal128`; nested types are normalised all through.
///
/// # Errors
/// If no partition stores such values: intervals, durations, unions, run-end encoding, types that
/// Parquet cannot hold (such as a struct without fields), and types nested deeper than 32 levels.
pub fn normalise_type(data_type: &DataType) -> Result<DataType, SchemaError> {
    normalise(data_type, TYPE_DEPTH_MAX)
}

fn normalise(data_type: &DataType, depth: u32) -> Result<DataType, SchemaError> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(SchemaError::TooDeep { limit: TYPE_DEPTH_MAX });
    };
    let normal = match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => normalise(values, depth)?,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            normalise(&DataType::Decimal128(*precision, *scale), depth)?
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => DataType::List(normalise_field(item, depth)?),
        DataType::FixedSizeList(item, size) if *size > 0 => {
            DataType::FixedSizeList(normalise_field(item, depth)?, *size)
        }
        DataType::Struct(fields) if !fields.is_empty() => {
            let fields = fields.iter().map(|field| normalise_field(field, depth));
            DataType::Struct(fields.collect::<Result<Fields, SchemaError>>()?)
        }
        DataType::Map(entries, is_sorted) if is_map_entry(entries) => {
            DataType::Map(normalise_field(entries, depth)?, *is_sorted)
        }
        flat if is_flat_normal(flat) => flat.clone(),
        other => return Err(SchemaError::UnsupportedType { data_type: other.clone() }),
    };
    Ok(normal)
}

fn normalise_field(field: &FieldRef, depth: u32) -> Result<FieldRef, SchemaError> {
    let data_type = normalise(field.data_type(), depth)?;
    Ok(Arc::new(field.as_ref().clone().with_data_type(data_type)))
}

/// Returns whether the entries of a map are what Parquet asks for: keys that are never NULL, and
/// values.
fn is_map_entry(entries: &Field) -> bool {
    match entries.data_type() {
        DataType::Struct(fields) => match fields.as_ref() {
            [key, _value] => !key.is_nullable() && !entries.is_nullable(),
            _ => false,
        },
        _ => false,
    }
}

fn is_flat_normal(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null | DataType::Boolean | DataType::Date32 | DataType::Date64 => true,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => true,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => true,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => true,
        DataType::Time32(unit) => matches!(unit, TimeUnit::Second | TimeUnit::Millisecond),
        DataType::Time64(unit) => matches!(unit, TimeUnit::Microsecond | TimeUnit::Nanosecond),
        DataType::Timestamp(_, _) => true,
        DataType::FixedSizeBinary(width) => *width > 0,
        DataType::Decimal128(precision, scale) => is_decimal(*precision, *scale, 38),
        DataType::Decimal256(precision, scale) => is_decimal(*precision, *scale, 76),
        _ => false,
    }
}

/// Returns whether Parquet holds such decimals: it knows no negative scale.
fn is_decimal(precision: u8, scale: i8, precision_max: u8) -> bool {
    let scale = u8::try_from(scale);
    (1..=precision_max).contains(&precision) && scale.is_ok_and(|scale| scale <= precision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn column(id: u32, name: &str, data_type: DataType) -> PartitionColumn {
        PartitionColumn { id: ColumnId(id), field: Field::new(name, data_type, true) }
    }

    fn check(columns: Vec<PartitionColumn>, primary: Option<u32>, expected: Expect) {
        let found = match PartitionSchema::try_new(columns, primary.map(ColumnId)) {
            Ok(schema) => format!("primary at {:?}", schema.primary_index()),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn schemas_are_checked() {
        let ts = || column(1, "ts", DataType::Timestamp(TimeUnit::Millisecond, None));
        let host = |id| column(id, "host", DataType::Utf8);
        check(vec![], None, expect!["a partition needs at least one column"]);
        check(vec![host(7), ts()], Some(1), expect!["primary at Some(1)"]);
        check(vec![host(7), ts()], None, expect!["primary at None"]);
        check(vec![host(1), ts()], None, expect!["column id 1 occurs twice"]);
        check(vec![host(1), host(2)], None, expect![[r#"column name "host" occurs twice"#]]);
        check(vec![ts()], Some(9), expect!["primary column 9 is not among the columns"]);
        check(
            vec![host(1)],
            Some(1),
            expect![[r#"primary column "host" has type Utf8, not a timestamp or date"#]],
        );
        check(
            vec![column(1, "v", DataType::Utf8View)],
            None,
            expect![[r#"column "v" has type Utf8View, which is stored as Utf8"#]],
        );
    }

    fn check_type(data_type: DataType, expected: Expect) {
        let found = match normalise_type(&data_type) {
            Ok(normal) => normal.to_string(),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn types_become_normal() {
        let item = |data_type| Arc::new(Field::new_list_field(data_type, true));
        let dictionary =
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8View));
        check_type(dictionary.clone(), expect!["Utf8"]);
        check_type(DataType::LargeList(item(dictionary)), expect!["List(Utf8)"]);
        check_type(DataType::LargeBinary, expect!["Binary"]);
        check_type(DataType::Decimal32(9, 2), expect!["Decimal128(9, 2)"]);
        check_type(DataType::Decimal128(9, -2), expect!["type Decimal128(9, -2) is not supported"]);
        check_type(
            DataType::Duration(TimeUnit::Second),
            expect!["type Duration(s) is not supported"],
        );
        check_type(DataType::Struct(Fields::empty()), expect!["type Struct() is not supported"]);
        let deep = (0..32).fold(DataType::Int8, |inner, _| DataType::List(item(inner)));
        check_type(deep, expect!["a type nested deeper than 32 levels is not supported"]);
        check_type(
            DataType::FixedSizeBinary(-1),
            expect!["type FixedSizeBinary(-1) is not supported"],
        );
    }

    #[test]
    fn normal_types_stay() {
        let entries = Field::new_struct(
            "entries",
            vec![
                Field::new("keys", DataType::Utf8, false),
                Field::new("values", DataType::Int64, true),
            ],
            false,
        );
        for data_type in [
            DataType::Null,
            DataType::Time64(TimeUnit::Nanosecond),
            DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into())),
            DataType::Decimal256(76, 0),
            DataType::Map(Arc::new(entries), false),
        ] {
            assert_eq!(normalise_type(&data_type), Ok(data_type));
        }
    }
}
