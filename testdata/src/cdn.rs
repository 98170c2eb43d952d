//! A seeded generator of CDN access logs: 26 columns whose sizes, skews and dependences are those
//! of a real log.
//!
//! | column | distinct | distribution |
//! |---|---|---|
//! | `ts` | nearly all | rate 1 + 0.6 sin(day); sorted, but for the late share |
//! | `request_id` | all | UUID version 4 or 7 |
//! | `host`, `path` | 2,000; 200,000 | Zipf 1.1; Zipf 1.05 |
//! | `method` | 7 | GET 90 %, POST 7 %, HEAD 1.5 % |
//! | `query` | nearly all | 70 % null, else `id=` and a random number |
//! | `status` | 14 | 200 86 %, 304 5 %, 404 3 %, … 5xx 0.4 % |
//! | `bytes_sent`, `request_bytes` | many | log-normal(9, 1.6), 0 for 304; log-normal(6.3, 0.5) |
//! | `latency_ms` | many | log-normal(2.2 from cache or 4.3 from origin, 0.8), + 900 for 5xx |
//! | `ttfb_ms` | many | 2 % null, else latency × uniform, three decimals |
//! | `client_ip` | 400,000 | Zipf 0.9, 5 % IPv6 |
//! | `client_port` | 64,512 | uniform |
//! | `asn`, `country`, `city` | 5,000; 195; 4,000 | functions of `client_ip`; 10 % of the addresses have no city |
//! | `user_agent`, `referer` | 3,000; 20,000 | Zipf 1.2, 1 % null; Zipf 1.1, 55 % null |
//! | `cache_status` | 7 | HIT 72 %, MISS 16 %, … |
//! | `pop`, `server` | 120; 2,400 | Zipf 0.6, near the country; 20 in each pop |
//! | `protocol`, `tls_version` | 3; 2 | h2 53 %, h3 25 %, HTTP/1.1 22 %; 8 % null, else TLSv1.3 90 % |
//! | `content_type` | 40 | Zipf 1.1, 3 % null |
//! | `level` | 3 | from `status`: ERROR (5xx), WARN (4xx but 404), INFO |
//! | `message` | all | five templates, each with a 16-digit `key=`; 0.04 % "Connection reset by peer" |
//!
//! Invariant: a row depends on the options other than `batch_rows` and on its own number, so a
//! batch of any size, a part of the range, or several parts at once give the same rows. The names
//! (hosts, paths, clients, …) are the same for every seed.
//!
//! **Needles** that a test may look for: [`client_ip`] of a rank, [`Generator::request_id`] and
//! [`Generator::key`] of a row number, without making the row. Left out: partitioning and files.

mod clients;
mod clock;
mod columns;
mod math;
mod message;
mod names;
mod pool;
mod random;
mod types;
mod world;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

pub use self::names::{
    ASNS, CITIES, CLIENTS, COUNTRIES, HOSTS, PATHS, POPS, REFERERS, SERVERS_PER_POP, USER_AGENTS,
    client_ip,
};
pub use self::types::{TypesGenerator, types_schema};
use self::world::World;

/// Rows of a batch unless asked otherwise: DataFusion's own batch size.
pub const BATCH_ROWS: usize = 8_192;

/// 2026-01-01 00:00:00 UTC, the first moment of a log unless asked otherwise.
pub const START_US: i64 = 1_767_225_600_000_000;

/// The most that a late row is late, in microseconds.
pub const LATE_US_MAX: u32 = 30_000_000;

/// Which rows to make.
#[derive(Debug, Clone, PartialEq)]
pub struct CdnOptions {
    /// Rows differ between seeds; names do not.
    pub seed: u64,
    /// Number of rows.
    pub rows: u64,
    /// First moment of the log, in microseconds since the epoch, UTC.
    pub start_us: i64,
    /// Days over which the rows are spread.
    pub days: u32,
    /// Percentage of rows whose `ts` lies up to 30 s before the time of their neighbours.
    pub late_percent: f64,
    /// Which kind of `request_id`.
    pub uuid: UuidVersion,
    /// Rows of each batch but the last.
    pub batch_rows: usize,
}

impl Default for CdnOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            rows: 1_000_000,
            start_us: START_US,
            days: 1,
            late_percent: 0.0,
            uuid: UuidVersion::V4,
            batch_rows: BATCH_ROWS,
        }
    }
}

/// How `request_id` is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UuidVersion {
    /// Random.
    V4,
    /// Begins with the milliseconds of `ts`.
    V7,
}

/// Returns the schema of the log: 26 columns.
#[must_use]
pub fn schema() -> SchemaRef {
    let text = |name| Field::new(name, DataType::Utf8, false);
    let optional = |name| Field::new(name, DataType::Utf8, true);
    Arc::new(Schema::new(vec![
        Field::new("ts", timestamp(), false),
        text("request_id"),
        text("host"),
        text("method"),
        text("path"),
        optional("query"),
        Field::new("status", DataType::Int16, false),
        Field::new("bytes_sent", DataType::Int64, false),
        Field::new("request_bytes", DataType::Int32, false),
        Field::new("latency_ms", DataType::Float64, false),
        Field::new("ttfb_ms", DataType::Float32, true),
        text("client_ip"),
        Field::new("client_port", DataType::Int32, false),
        Field::new("asn", DataType::Int32, false),
        text("country"),
        optional("city"),
        optional("user_agent"),
        optional("referer"),
        text("cache_status"),
        text("pop"),
        text("server"),
        text("protocol"),
        optional("tls_version"),
        optional("content_type"),
        text("level"),
        text("message"),
    ]))
}

/// Returns the type of every time column here: microseconds, UTC.
fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// Makes the rows of a log, batch by batch; see the module's page.
#[derive(Debug, Clone)]
pub struct Generator {
    world: Arc<World>,
    schema: SchemaRef,
    batch_rows: u64,
    rows: Range<u64>,
}

impl Generator {
    /// Returns the generator of all rows of these options.
    #[must_use]
    pub fn new(options: CdnOptions) -> Self {
        let batch_rows = u64::try_from(options.batch_rows.max(1)).unwrap_or(u64::MAX);
        let rows = 0..options.rows;
        Self { world: Arc::new(World::new(options)), schema: schema(), batch_rows, rows }
    }

    /// Returns a generator of some of the rows, which shares this one's tables: several parts can
    /// be made at once.
    #[must_use]
    pub fn part(&self, rows: Range<u64>) -> Self {
        let end = rows.end.min(self.world.options().rows);
        Self { rows: rows.start.min(end)..end, ..self.clone() }
    }

    /// Returns the `request_id` of a row.
    #[must_use]
    pub fn request_id(&self, row: u64) -> String {
        self.world.request_id(row, self.world.ts_us(row))
    }

    /// Returns the sixteen hexadecimal digits that follow `key=` in the message of a row, and of
    /// no other row.
    #[must_use]
    pub fn key(&self, row: u64) -> String {
        let mut text = String::new();
        pool::push_hex(&mut text, self.world.key(row), 16);
        text
    }

    /// Returns the `ts` of a row in microseconds since the epoch.
    #[must_use]
    pub fn ts_us(&self, row: u64) -> i64 {
        self.world.ts_us(row)
    }
}

impl Iterator for Generator {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        let start = self.rows.start;
        let end = self.rows.end.min(start.saturating_add(self.batch_rows));
        if start >= end {
            return None;
        }
        self.rows.start = end;
        Some(columns::batch(&self.world, &self.schema, start..end))
    }
}

#[cfg(test)]
mod tests;
