//! The columns that the access log has none of but log tables elsewhere do: lists, maps, structs,
//! decimals, booleans, dates, bytes, a column that is always null and one that is always equal.
//!
//! Invariant: as for the log, a row depends on the seed and its number only.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array,
    ListBuilder, MapBuilder, MapFieldNames, RecordBatch, StringArray, StringBuilder, StructArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};

use super::clock::{Clock, DAY_US};
use super::random::{Stream, below, happens, to_thousandths, unit};
use super::{CdnOptions, timestamp};

/// Share of the rows that are null in `tags`, `headers`, `geo`, `price` and `is_bot`.
const NULLS: f64 = 0.05;

/// Precision and scale of `price`.
const PRICE: (u8, i8) = (18, 4);

/// `price` is between minus and plus this, in ten-thousandths.
const PRICE_MAX: i64 = 50_000_000;

const TAGS: [&str; 8] = ["web", "api", "mobile", "beta", "internal", "eu", "us", "canary"];
const HEADERS: [(&str, [&str; 3]); 4] = [
    ("accept-encoding", ["gzip", "br", "zstd"]),
    ("cache-control", ["no-cache", "max-age=60", "private"]),
    ("x-client", ["ios", "android", "web"]),
    ("x-region", ["eu", "us", "ap"]),
];
const REGIONS: [&str; 4] = ["north", "east", "south", "west"];

/// What each stream of draws is for.
const ARRIVAL: u64 = 101;
const TAG: u64 = 102;
const HEADER: u64 = 103;
const GEO: u64 = 104;
const PRICE_DRAW: u64 = 105;
const BOT: u64 = 106;
const PAYLOAD: u64 = 107;
const NULL: u64 = 108;

/// Returns the schema of [`TypesGenerator`].
#[must_use]
pub fn types_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("ts", timestamp(), false),
        Field::new("n", DataType::Int64, false),
        Field::new("tags", DataType::List(tag_field()), true),
        Field::new("headers", headers_type(), true),
        Field::new("geo", DataType::Struct(geo_fields()), true),
        Field::new("price", DataType::Decimal128(PRICE.0, PRICE.1), true),
        Field::new("is_bot", DataType::Boolean, true),
        Field::new("day", DataType::Date32, false),
        Field::new("payload", DataType::Binary, true),
        Field::new("nothing", DataType::Utf8, true),
        Field::new("constant", DataType::Utf8, false),
    ]))
}

fn tag_field() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Utf8, true))
}

fn geo_fields() -> Fields {
    Fields::from(vec![
        Field::new("lat", DataType::Float64, true),
        Field::new("lon", DataType::Float64, true),
        Field::new("region", DataType::Utf8, true),
    ])
}

fn headers_type() -> DataType {
    let entry = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, true),
    ]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entry), false)), false)
}

/// Makes rows of the types above; only `seed`, `rows`, `start_us`, `days` and `batch_rows` of the
/// options count.
#[derive(Debug, Clone)]
pub struct TypesGenerator {
    options: CdnOptions,
    clock: Clock,
    schema: SchemaRef,
    next: u64,
}

impl TypesGenerator {
    /// Returns the generator of all rows of these options.
    #[must_use]
    pub fn new(options: CdnOptions) -> Self {
        let clock = Clock::new(options.start_us, options.days.max(1), options.rows);
        Self { options, clock, schema: types_schema(), next: 0 }
    }

    fn draw(&self, purpose: u64, row: u64) -> u64 {
        Stream::new(self.options.seed, purpose).at(row)
    }

    /// Returns whether column number `column` is null in this row.
    fn is_null(&self, column: u32, row: u64) -> bool {
        happens(self.draw(NULL, row).rotate_left(column * 11), NULLS)
    }

    fn batch(&self, rows: Range<u64>) -> RecordBatch {
        let ts: Vec<i64> =
            rows.clone().map(|row| self.clock.arrival_us(row, self.draw(ARRIVAL, row))).collect();
        let day = ts.iter().map(|us| i32::try_from(us.div_euclid(DAY_US)).unwrap_or(i32::MAX));
        let number = rows.clone().map(|row| i64::try_from(row).unwrap_or(i64::MAX));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(TimestampMicrosecondArray::from(ts.clone()).with_timezone("UTC")),
            Arc::new(Int64Array::from_iter_values(number)),
            self.tags(rows.clone()),
            self.headers(rows.clone()),
            self.geo(rows.clone()),
            self.price(rows.clone()),
            Arc::new(self.is_bot(rows.clone())),
            Arc::new(Date32Array::from_iter_values(day)),
            self.payload(rows.clone()),
            Arc::new(rows.clone().map(|_| None::<&str>).collect::<StringArray>()),
            Arc::new(rows.map(|_| Some("edge")).collect::<StringArray>()),
        ];
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .expect("the columns are those of the schema")
    }

    fn tags(&self, rows: Range<u64>) -> ArrayRef {
        let mut column = ListBuilder::new(StringBuilder::new()).with_field(tag_field());
        for row in rows {
            let draw = self.draw(TAG, row);
            let present = !self.is_null(0, row);
            let count = if present { below(draw, 4) } else { 0 };
            for place in 0..count {
                let tag = below(draw.rotate_left(7 * (place + 1)), 8);
                column.values().append_value(TAGS[tag as usize]);
            }
            column.append(present);
        }
        Arc::new(column.finish())
    }

    fn headers(&self, rows: Range<u64>) -> ArrayRef {
        let names = MapFieldNames {
            entry: "entries".to_owned(),
            key: "key".to_owned(),
            value: "value".to_owned(),
        };
        let mut column = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
        for row in rows {
            let draw = self.draw(HEADER, row);
            let present = !self.is_null(1, row);
            for (place, (name, values)) in (1..).zip(HEADERS) {
                let bits = draw.rotate_left(9 * place);
                if present && happens(bits, 0.5) {
                    column.keys().append_value(name);
                    column.values().append_value(values[below(bits.rotate_left(5), 3) as usize]);
                }
            }
            column.append(present).expect("keys and values are appended in pairs");
        }
        Arc::new(column.finish())
    }

    fn geo(&self, rows: Range<u64>) -> ArrayRef {
        // The members of an absent struct are absent too, as they are once read from a file.
        let present: Vec<bool> = rows.clone().map(|row| !self.is_null(2, row)).collect();
        let drawn = || rows.clone().zip(&present).map(|(row, &present)| (row, present));
        let degrees = |(row, present): (u64, bool), turn, range: f64| {
            let draw = self.draw(GEO, row).rotate_left(turn);
            present.then(|| to_thousandths((unit(draw) - 0.5) * range))
        };
        let lat: Float64Array = drawn().map(|row| degrees(row, 0, 180.0)).collect();
        let lon: Float64Array = drawn().map(|row| degrees(row, 24, 360.0)).collect();
        let region = |(row, present): (u64, bool)| {
            let draw = self.draw(GEO, row).rotate_left(48);
            present.then(|| REGIONS[below(draw, 4) as usize])
        };
        let region: StringArray = drawn().map(region).collect();
        let columns: Vec<ArrayRef> = vec![Arc::new(lat), Arc::new(lon), Arc::new(region)];
        Arc::new(StructArray::new(geo_fields(), columns, Some(present.into())))
    }

    fn price(&self, rows: Range<u64>) -> ArrayRef {
        let range = u32::try_from(2 * PRICE_MAX).unwrap_or(u32::MAX);
        let price = |row| {
            let price = i64::from(below(self.draw(PRICE_DRAW, row), range)) - PRICE_MAX;
            (!self.is_null(3, row)).then_some(i128::from(price))
        };
        let column: Decimal128Array = rows.map(price).collect();
        let column = column.with_precision_and_scale(PRICE.0, PRICE.1);
        Arc::new(column.expect("18 digits hold the largest price"))
    }

    fn is_bot(&self, rows: Range<u64>) -> BooleanArray {
        rows.map(|row| (!self.is_null(4, row)).then(|| happens(self.draw(BOT, row), 0.2))).collect()
    }

    fn payload(&self, rows: Range<u64>) -> ArrayRef {
        let mut column = BinaryBuilder::new();
        for row in rows {
            let draw = self.draw(PAYLOAD, row);
            let bytes = draw.to_be_bytes();
            let length = below(draw.rotate_left(32), 8) as usize;
            column.append_option((!happens(draw, 0.1)).then(|| &bytes[..length]));
        }
        Arc::new(column.finish())
    }
}

impl Iterator for TypesGenerator {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        let batch_rows = u64::try_from(self.options.batch_rows.max(1)).unwrap_or(u64::MAX);
        let (start, end) = (self.next, self.options.rows.min(self.next.saturating_add(batch_rows)));
        self.next = end;
        (start < end).then(|| self.batch(start..end))
    }
}
