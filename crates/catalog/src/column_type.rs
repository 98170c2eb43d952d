//! The stored form of a column type: the Arrow IPC message of a schema with this one field.
//!
//! IPC is a format that Arrow promises to read for ever, which its text form is not. The text is
//! stored beside it for people who open the catalog with a SQL shell; it is never read back.

use std::panic::catch_unwind;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use arrow::ipc::convert::try_schema_from_flatbuffer_bytes;
use arrow::ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};

use crate::error::CatalogError;

/// Name of the only field: the real name of a column may change and stands elsewhere.
const FIELD_NAME: &str = "c";

/// Returns the bytes to store for `data_type`.
pub(crate) fn encode_type(data_type: &DataType) -> Vec<u8> {
    let field = Field::new(FIELD_NAME, data_type.clone(), true);
    let schema = Schema::new(vec![Arc::new(field)]);
    let mut dictionaries = DictionaryTracker::new(false);
    let encoded = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
        &schema,
        &mut dictionaries,
        &IpcWriteOptions::default(),
    );
    encoded.ipc_message
}

/// Reads the type back from stored bytes.
pub(crate) fn decode_type(bytes: &[u8]) -> Result<DataType, CatalogError> {
    let damaged = |what: &str| CatalogError::Corrupt { what: what.to_owned(), source: None };
    // Arrow checks the layout of the message, but panics on a type that it does not know.
    let schema = catch_unwind(|| try_schema_from_flatbuffer_bytes(bytes))
        .map_err(|_panic| damaged("type of a column that Arrow does not know"))?
        .map_err(|error| CatalogError::corrupt("type of a column", error))?;
    let field = schema.fields().first();
    field
        .map(|field| field.data_type().clone())
        .ok_or_else(|| damaged("type of a column without field"))
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn every_kind_of_type_survives() {
        let item = Arc::new(Field::new("item", DataType::Utf8, true));
        let types = [
            DataType::Boolean,
            DataType::Int8,
            DataType::UInt64,
            DataType::Float32,
            DataType::Utf8,
            DataType::Utf8View,
            DataType::LargeUtf8,
            DataType::Binary,
            DataType::FixedSizeBinary(16),
            DataType::Date32,
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            DataType::Timestamp(TimeUnit::Nanosecond, None),
            DataType::Decimal128(20, 4),
            DataType::List(Arc::clone(&item)),
            DataType::Struct(vec![item].into()),
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        ];
        for data_type in types {
            let decoded = decode_type(&encode_type(&data_type)).expect("just encoded");
            assert_eq!(decoded, data_type);
        }
    }

    /// Flips each bit of a stored type: the answer is a type or an error, never a panic.
    #[test]
    fn damaged_bytes_do_not_panic() {
        let bytes = encode_type(&DataType::Timestamp(TimeUnit::Second, Some("UTC".into())));
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[place] ^= 1 << bit;
                drop(decode_type(&damaged));
            }
        }
    }

    #[test]
    fn foreign_bytes_are_an_error() {
        for bytes in [&b""[..], b"x", &[0xff; 64]] {
            assert!(matches!(decode_type(bytes), Err(CatalogError::Corrupt { .. })));
        }
    }
}
