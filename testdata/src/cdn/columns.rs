//! Rows to columns: one short function for each column or pair of columns.
//!
//! Invariant: columns come in the order of `schema`, and each value depends on its row number
//! only through the streams of [`World`]. What several columns depend on is drawn first.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, RecordBatch,
    StringArray, StringBuilder, TimestampMicrosecondArray,
};
use arrow::datatypes::SchemaRef;

use super::message::{Event, push_message};
use super::names::{CACHE_STATUSES, CONTENT_TYPES, METHODS, PROTOCOLS, SERVERS_PER_POP, STATUSES};
use super::pool::{Pool, push_number};
use super::random::{Alias, below, happens, mix, to_thousandths, unit, whole};
use super::world::{Purpose, World};

/// Numbers in `query` are below this: hardly ever twice.
const QUERY_NUMBERS: u32 = 1_000_000_000;

/// First port that a client uses; 64,512 follow.
const FIRST_PORT: u32 = 1_024;
const PORTS: u32 = 65_536 - FIRST_PORT;

/// Milliseconds that a failing upstream adds.
const FAILURE_MS: f64 = 900.0;

/// Of HTTP/1.1 requests, those without TLS: 8 % of all.
const PLAIN_SHARE: f64 = 0.08 / 0.22;

/// Of TLS requests over h2 or HTTP/1.1, those with 1.2: 10 % of all with TLS, since h3 has none.
const OLD_TLS_SHARE: f64 = 0.092 / (0.53 + 0.22 - 0.08);

/// What more than one column of a row depends on.
struct Drawn<'a> {
    world: &'a World,
    rows: Range<u64>,
    ts: Vec<i64>,
    status: Vec<i16>,
    cache_status: Vec<&'static str>,
    client: Vec<u32>,
    pop: Vec<u32>,
    protocol: Vec<&'static str>,
    latency: Vec<f64>,
}

/// Returns these rows as a batch.
pub(super) fn batch(world: &World, schema: &SchemaRef, rows: Range<u64>) -> RecordBatch {
    let drawn = Drawn::new(world, rows);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampMicrosecondArray::from(drawn.ts.clone()).with_timezone("UTC")),
        Arc::new(drawn.request_id()),
        Arc::new(drawn.ranked(Purpose::Host, &world.host, &world.hosts)),
        Arc::new(drawn.method()),
        Arc::new(drawn.ranked(Purpose::Path, &world.path, &world.paths)),
        Arc::new(drawn.query()),
        Arc::new(Int16Array::from(drawn.status.clone())),
        Arc::new(drawn.bytes_sent()),
        Arc::new(drawn.request_bytes()),
        Arc::new(Float64Array::from(drawn.latency.clone())),
        Arc::new(drawn.ttfb_ms()),
        Arc::new(drawn.text(20, |at| Some(world.addresses.get(drawn.client[at])))),
        Arc::new(drawn.client_port()),
        Arc::new(drawn.asn()),
        Arc::new(drawn.country()),
        Arc::new(drawn.city()),
        Arc::new(drawn.user_agent()),
        Arc::new(drawn.referer()),
        Arc::new(drawn.text(8, |at| Some(drawn.cache_status[at]))),
        Arc::new(drawn.text(4, |at| Some(world.pops.get(drawn.pop[at])))),
        Arc::new(drawn.server()),
        Arc::new(drawn.text(8, |at| Some(drawn.protocol[at]))),
        Arc::new(drawn.tls_version()),
        Arc::new(drawn.content_type()),
        Arc::new(drawn.text(8, |at| Some(level(drawn.status[at])))),
        Arc::new(drawn.message()),
    ];
    RecordBatch::try_new(Arc::clone(schema), columns).expect("the columns are those of the schema")
}

impl<'a> Drawn<'a> {
    fn new(world: &'a World, rows: Range<u64>) -> Self {
        let draws = |purpose| {
            let stream = world.stream(purpose);
            rows.clone().map(move |row| stream.at(row))
        };
        let status: Vec<i16> = draws(Purpose::Status)
            .map(|draw| STATUSES[world.status.sample(draw) as usize].0)
            .collect();
        let cache_status: Vec<&str> = draws(Purpose::Cache)
            .map(|draw| CACHE_STATUSES[world.cache.sample(draw) as usize].0)
            .collect();
        let client: Vec<u32> =
            draws(Purpose::Client).map(|draw| world.client.sample(draw)).collect();
        let pop = draws(Purpose::Pop)
            .zip(&client)
            .map(|(draw, &client)| {
                world.near.pop(world.clients[client as usize].country, unit(draw))
            })
            .collect();
        let protocol = draws(Purpose::Protocol)
            .map(|draw| PROTOCOLS[world.protocol.sample(draw) as usize].0)
            .collect();
        let latency = draws(Purpose::Latency)
            .zip(status.iter().zip(&cache_status))
            .map(|(draw, (&status, &cache))| latency_ms(world, draw, status, cache))
            .collect();
        let ts = rows.clone().map(|row| world.ts_us(row)).collect();
        Self { world, rows, ts, status, cache_status, client, pop, protocol, latency }
    }

    /// Returns the draws of these rows for one purpose.
    fn draws(&self, purpose: Purpose) -> impl Iterator<Item = u64> {
        let stream = self.world.stream(purpose);
        self.rows.clone().map(move |row| stream.at(row))
    }

    /// Returns a column whose value at each position is given, of about this many bytes each.
    fn text<'t>(&self, bytes: usize, value: impl Fn(usize) -> Option<&'t str>) -> StringArray {
        let mut column = StringBuilder::with_capacity(self.ts.len(), self.ts.len() * bytes);
        (0..self.ts.len()).for_each(|at| column.append_option(value(at)));
        column.finish()
    }

    /// Returns a column of names chosen by weight.
    fn ranked(&self, purpose: Purpose, weights: &Alias, names: &Pool) -> StringArray {
        let mut column = StringBuilder::with_capacity(self.ts.len(), self.ts.len() * 28);
        for draw in self.draws(purpose) {
            column.append_value(names.get(weights.sample(draw)));
        }
        column.finish()
    }

    /// Returns a column made by writing each value into one scratch string; `false` means null.
    fn written(
        &self,
        bytes: usize,
        mut write: impl FnMut(usize, u64, &mut String) -> bool,
    ) -> StringArray {
        let mut column = StringBuilder::with_capacity(self.ts.len(), self.ts.len() * bytes);
        let mut scratch = String::with_capacity(256);
        for (at, row) in self.rows.clone().enumerate() {
            scratch.clear();
            let present = write(at, row, &mut scratch);
            column.append_option(present.then_some(scratch.as_str()));
        }
        column.finish()
    }

    fn request_id(&self) -> StringArray {
        self.written(36, |at, row, text| {
            self.world.push_request_id(row, self.ts[at], text);
            true
        })
    }

    fn method(&self) -> StringArray {
        let mut column = StringBuilder::with_capacity(self.ts.len(), self.ts.len() * 4);
        for draw in self.draws(Purpose::Method) {
            column.append_value(METHODS[self.world.method.sample(draw) as usize].0);
        }
        column.finish()
    }

    fn query(&self) -> StringArray {
        let (present, number) =
            (self.world.stream(Purpose::Query), self.world.stream(Purpose::QueryNumber));
        self.written(5, |_, row, text| {
            text.push_str("id=");
            push_number(text, u64::from(below(number.at(row), QUERY_NUMBERS)));
            !happens(present.at(row), 0.7)
        })
    }

    fn bytes_sent(&self) -> Int64Array {
        let sizes = self.draws(Purpose::BytesSent).zip(&self.status);
        sizes
            .map(|(draw, &status)| match status {
                304 => 0,
                _ => whole(self.world.bytes_sent.sample(draw)),
            })
            .collect::<Vec<i64>>()
            .into()
    }

    fn request_bytes(&self) -> Int32Array {
        self.draws(Purpose::RequestBytes)
            .map(|draw| {
                i32::try_from(whole(self.world.request_bytes.sample(draw))).unwrap_or(i32::MAX)
            })
            .collect::<Vec<i32>>()
            .into()
    }

    fn ttfb_ms(&self) -> Float32Array {
        let absent = self.world.stream(Purpose::FirstByteNull);
        let draws = self.draws(Purpose::FirstByte).zip(&self.latency).zip(self.rows.clone());
        draws
            .map(|((draw, latency), row)| {
                (!happens(absent.at(row), 0.02))
                    .then(|| single(to_thousandths(latency * unit(draw))))
            })
            .collect()
    }

    fn client_port(&self) -> Int32Array {
        self.draws(Purpose::ClientPort)
            .map(|draw| i32::try_from(FIRST_PORT + below(draw, PORTS)).unwrap_or(i32::MAX))
            .collect::<Vec<i32>>()
            .into()
    }

    fn asn(&self) -> Int32Array {
        let asns = self.client.iter().map(|&client| self.world.clients[client as usize].asn);
        asns.collect::<Vec<i32>>().into()
    }

    fn country(&self) -> StringArray {
        let world = self.world;
        self.text(2, |at| {
            Some(world.countries.get(world.clients[self.client[at] as usize].country))
        })
    }

    fn city(&self) -> StringArray {
        let world = self.world;
        self.text(10, |at| {
            world.clients[self.client[at] as usize].city.map(|city| world.cities.get(city))
        })
    }

    fn user_agent(&self) -> StringArray {
        let world = self.world;
        self.ranked_or_null(
            (Purpose::UserAgent, Purpose::UserAgentNull),
            0.01,
            &world.user_agent,
            &world.user_agents,
        )
    }

    fn referer(&self) -> StringArray {
        let world = self.world;
        self.ranked_or_null(
            (Purpose::Referer, Purpose::RefererNull),
            0.55,
            &world.referer,
            &world.referers,
        )
    }

    fn ranked_or_null(
        &self,
        (value, absent): (Purpose, Purpose),
        nulls: f64,
        weights: &Alias,
        names: &Pool,
    ) -> StringArray {
        let mut column = StringBuilder::with_capacity(self.ts.len(), self.ts.len() * 120);
        for (value, absent) in self.draws(value).zip(self.draws(absent)) {
            let name = (!happens(absent, nulls)).then(|| names.get(weights.sample(value)));
            column.append_option(name);
        }
        column.finish()
    }

    fn server(&self) -> StringArray {
        let mut column = StringBuilder::with_capacity(self.ts.len(), self.ts.len() * 12);
        for (draw, &pop) in self.draws(Purpose::Server).zip(&self.pop) {
            let server = pop * SERVERS_PER_POP + below(draw, SERVERS_PER_POP);
            column.append_value(self.world.servers.get(server));
        }
        column.finish()
    }

    fn tls_version(&self) -> StringArray {
        let mut column = StringBuilder::with_capacity(self.ts.len(), self.ts.len() * 8);
        for (draw, &protocol) in self.draws(Purpose::Tls).zip(&self.protocol) {
            column.append_option(match protocol {
                "HTTP/1.1" if happens(draw, PLAIN_SHARE) => None,
                "h2" | "HTTP/1.1" if happens(mix(draw), OLD_TLS_SHARE) => Some("TLSv1.2"),
                _ => Some("TLSv1.3"),
            });
        }
        column.finish()
    }

    fn content_type(&self) -> StringArray {
        let mut column = StringBuilder::with_capacity(self.ts.len(), self.ts.len() * 20);
        let draws = self.draws(Purpose::ContentType).zip(self.draws(Purpose::ContentTypeNull));
        for (value, absent) in draws {
            let value = CONTENT_TYPES[self.world.content_type.sample(value) as usize];
            column.append_option((!happens(absent, 0.03)).then_some(value));
        }
        column.finish()
    }

    fn message(&self) -> StringArray {
        let draw = self.world.stream(Purpose::Message);
        self.written(110, |at, row, text| {
            let event = Event {
                status: self.status[at],
                cache_status: self.cache_status[at],
                key: self.world.key(row),
                draw: draw.at(row),
            };
            push_message(text, event);
            true
        })
    }
}

/// Returns how long a request took, to the microsecond.
fn latency_ms(world: &World, draw: u64, status: i16, cache_status: &str) -> f64 {
    let from_cache = matches!(cache_status, "HIT" | "STALE" | "REVALIDATED");
    let distribution = if from_cache { &world.latency_hit } else { &world.latency_miss };
    let failure = if status >= 500 { FAILURE_MS } else { 0.0 };
    to_thousandths(distribution.sample(draw) + failure)
}

/// Returns the log level that a status deserves.
fn level(status: i16) -> &'static str {
    match status {
        500.. => "ERROR",
        404 => "INFO",
        400.. => "WARN",
        _ => "INFO",
    }
}

/// Returns the nearest single-precision number.
#[expect(clippy::cast_possible_truncation, reason = "the column is of single precision")]
fn single(x: f64) -> f32 {
    x as f32
}
