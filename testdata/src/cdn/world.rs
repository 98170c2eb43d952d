//! Everything that the columns draw from: name pools, weights, distributions, one stream for each
//! purpose.
//!
//! Invariant: read-only once made, so parts of a log can share it. Left out: the columns.

use super::clients::{COUNTRY_SKEW, Client, clients};
use super::clock::Clock;
use super::names::{
    self, CACHE_STATUSES, CLIENTS, CONTENT_TYPES, COUNTRIES, HOSTS, METHODS, PATHS, POPS,
    PROTOCOLS, REFERERS, STATUSES, USER_AGENTS,
};
use super::pool::{Pool, push_hex};
use super::random::{Alias, LogNormal, Stream, below, happens, zipf_weights};
use super::{CdnOptions, LATE_US_MAX, UuidVersion};

/// What a stream of draws is for; its number is part of the log's definition and never changes.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub(super) enum Purpose {
    Arrival = 1,
    Late = 2,
    RequestHigh = 3,
    RequestLow = 4,
    Host = 5,
    Method = 6,
    Path = 7,
    Query = 8,
    QueryNumber = 9,
    Status = 10,
    BytesSent = 11,
    RequestBytes = 12,
    Latency = 13,
    FirstByte = 14,
    FirstByteNull = 15,
    Client = 16,
    ClientPort = 17,
    UserAgent = 18,
    UserAgentNull = 19,
    Referer = 20,
    RefererNull = 21,
    Cache = 22,
    Pop = 23,
    Server = 24,
    Protocol = 25,
    Tls = 26,
    ContentType = 27,
    ContentTypeNull = 28,
    Key = 29,
    Message = 30,
}

/// The tables of one log.
#[derive(Debug)]
pub(super) struct World {
    options: CdnOptions,
    clock: Clock,
    pub(super) hosts: Pool,
    pub(super) paths: Pool,
    pub(super) addresses: Pool,
    pub(super) clients: Vec<Client>,
    pub(super) user_agents: Pool,
    pub(super) referers: Pool,
    pub(super) countries: Pool,
    pub(super) cities: Pool,
    pub(super) pops: Pool,
    pub(super) servers: Pool,
    pub(super) host: Alias,
    pub(super) path: Alias,
    pub(super) client: Alias,
    pub(super) user_agent: Alias,
    pub(super) referer: Alias,
    pub(super) method: Alias,
    pub(super) status: Alias,
    pub(super) cache: Alias,
    pub(super) protocol: Alias,
    pub(super) content_type: Alias,
    pub(super) bytes_sent: LogNormal,
    pub(super) request_bytes: LogNormal,
    pub(super) latency_hit: LogNormal,
    pub(super) latency_miss: LogNormal,
    pub(super) near: Near,
}

impl World {
    /// Returns the tables for these options.
    pub(super) fn new(options: CdnOptions) -> Self {
        let clock = Clock::new(options.start_us, options.days.max(1), options.rows);
        Self {
            options,
            clock,
            hosts: names::hosts(),
            paths: names::paths(),
            addresses: names::clients(),
            clients: clients(),
            user_agents: names::user_agents(),
            referers: names::referers(),
            countries: names::countries(),
            cities: names::cities(),
            pops: names::pops(),
            servers: names::servers(),
            host: Alias::zipf(HOSTS, 1.1),
            path: Alias::zipf(PATHS, 1.05),
            client: Alias::zipf(CLIENTS, 0.9),
            user_agent: Alias::zipf(USER_AGENTS, 1.2),
            referer: Alias::zipf(REFERERS, 1.1),
            method: Alias::new(&METHODS.map(|(_, share)| share)),
            status: Alias::new(&STATUSES.map(|(_, share)| share)),
            cache: Alias::new(&CACHE_STATUSES.map(|(_, share)| share)),
            protocol: Alias::new(&PROTOCOLS.map(|(_, share)| share)),
            content_type: Alias::new(&zipf_weights(40, 1.1)[..CONTENT_TYPES.len()]),
            bytes_sent: LogNormal::new(9.0, 1.6),
            request_bytes: LogNormal::new(6.3, 0.5),
            latency_hit: LogNormal::new(2.2, 0.8),
            latency_miss: LogNormal::new(4.3, 0.8),
            near: Near::new(),
        }
    }

    /// Returns what this log was asked to be.
    pub(super) fn options(&self) -> &CdnOptions {
        &self.options
    }

    /// Returns the stream of draws for a purpose.
    pub(super) fn stream(&self, purpose: Purpose) -> Stream {
        Stream::new(self.options.seed, purpose as u64)
    }

    /// Returns the time of a row in microseconds since the epoch.
    pub(super) fn ts_us(&self, row: u64) -> i64 {
        let arrival = self.clock.arrival_us(row, self.stream(Purpose::Arrival).at(row));
        let late = self.stream(Purpose::Late).at(row);
        if happens(late, self.options.late_percent / 100.0) {
            arrival - i64::from(below(super::random::mix(late), LATE_US_MAX)) - 1
        } else {
            arrival
        }
    }

    /// Returns the key in the message of a row.
    pub(super) fn key(&self, row: u64) -> u64 {
        self.stream(Purpose::Key).at(row)
    }

    /// Returns the `request_id` of a row at this time.
    pub(super) fn request_id(&self, row: u64, ts_us: i64) -> String {
        let mut text = String::with_capacity(36);
        self.push_request_id(row, ts_us, &mut text);
        text
    }

    /// Appends the `request_id` of a row at this time.
    pub(super) fn push_request_id(&self, row: u64, ts_us: i64, text: &mut String) {
        let random = self.stream(Purpose::RequestHigh).at(row);
        let (high, version) = match self.options.uuid {
            UuidVersion::V4 => (random, 4),
            UuidVersion::V7 => {
                let ms = u64::try_from(ts_us.div_euclid(1_000)).unwrap_or(0);
                (ms << 16 | random & 0xFFF, 7)
            }
        };
        let high = high & !0xF000 | version << 12;
        let low = self.stream(Purpose::RequestLow).at(row) >> 2 | 1 << 63;
        push_hex(text, high >> 32, 8);
        text.push('-');
        push_hex(text, high >> 16, 4);
        text.push('-');
        push_hex(text, high, 4);
        text.push('-');
        push_hex(text, low >> 48, 4);
        text.push('-');
        push_hex(text, low, 12);
    }
}

/// Which point of presence serves a country: countries and points of presence lie on one line,
/// each as long as its share, and a request goes to a point that lies under its country. So the
/// points keep their own skew and a country always meets the same few.
#[derive(Debug)]
pub(super) struct Near {
    /// Where on the line each country begins, and the end of the last.
    countries: Vec<f64>,
    /// Where on the line each point of presence ends.
    pops: Vec<f64>,
}

impl Near {
    fn new() -> Self {
        let mut countries = vec![0.0];
        countries.extend(ends(&zipf_weights(COUNTRIES, COUNTRY_SKEW)));
        Self { countries, pops: ends(&zipf_weights(POPS, 0.6)) }
    }

    /// Returns the point of presence for a request from this country.
    pub(super) fn pop(&self, country: u32, along: f64) -> u32 {
        let country = country as usize;
        let (start, end) = (self.countries[country], self.countries[country + 1]);
        let place = start + along * (end - start);
        let pop = self.pops.partition_point(|&end| end <= place);
        u32::try_from(pop).unwrap_or(u32::MAX).min(POPS - 1)
    }
}

/// Returns where each weight ends on a line of length 1.
fn ends(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    weights
        .iter()
        .map(|weight| {
            sum += weight / total;
            sum
        })
        .collect()
}
