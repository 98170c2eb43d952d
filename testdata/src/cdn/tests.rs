//! What the generator promises: the same rows however they are asked for, and the shares of its
//! table.

use std::collections::HashMap;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{
    Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use expect_test::expect;

use super::*;

/// Enough rows that a share of 1 % is met within a tenth of it.
const ROWS: u64 = 100_000;

fn options() -> CdnOptions {
    CdnOptions { seed: 42, rows: ROWS, days: 2, ..CdnOptions::default() }
}

fn all(generator: Generator) -> RecordBatch {
    let batches: Vec<RecordBatch> = generator.collect();
    concat_batches(&schema(), &batches).expect("batches of one schema")
}

fn text<'a>(batch: &'a RecordBatch, column: &str) -> Vec<Option<&'a str>> {
    let column = batch.column_by_name(column).expect("a column of the log");
    column.as_string::<i32>().iter().collect()
}

fn status(batch: &RecordBatch) -> Vec<i16> {
    batch.column_by_name("status").unwrap().as_primitive::<Int16Type>().values().to_vec()
}

fn ts(batch: &RecordBatch) -> Vec<i64> {
    let column = batch.column_by_name("ts").unwrap();
    column.as_primitive::<TimestampMicrosecondType>().values().to_vec()
}

/// Checks that a share is `expected`, with the tolerance that chance asks for.
#[track_caller]
fn check(what: &str, hits: usize, expected: f64, tolerance: f64) {
    let share = hits as f64 / ROWS as f64;
    assert!((share - expected).abs() <= tolerance, "{what}: {share}, not {expected}");
}

/// Returns how many rows the most frequent value has, and the number of different values.
fn head_and_distinct(values: &[Option<&str>]) -> (usize, usize) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    values.iter().flatten().for_each(|value| *counts.entry(value).or_default() += 1);
    (counts.values().copied().max().unwrap_or(0), counts.len())
}

#[test]
fn batches_and_parts_give_the_same_rows() {
    let whole = all(Generator::new(options()));
    assert_eq!(whole.num_rows(), usize::try_from(ROWS).unwrap());
    let again = all(Generator::new(CdnOptions { batch_rows: 65_536, ..options() }));
    assert!(whole == again, "batch size shows");
    let generator = Generator::new(CdnOptions { batch_rows: 999, ..options() });
    let part = all(generator.part(70_001..90_000));
    assert!(whole.slice(70_001, 19_999) == part, "position shows");
    let other = all(Generator::new(CdnOptions { seed: 43, ..options() }).part(0..1_000));
    assert!(whole.slice(0, 1_000) != other, "the seed does not show");
}

#[test]
fn a_row_never_changes() {
    let row = all(Generator::new(options()).part(12_345..12_346));
    let rows = crate::text::rows(&[row]).unwrap();
    let named: Vec<String> = schema()
        .fields()
        .iter()
        .zip(&rows[0])
        .map(|(field, value)| format!("{} = {value}", field.name()))
        .collect();
    expect![[r#"
        ts = 2026-01-01T04:30:25.489363
        request_id = 3d087b38-77bc-4fc5-81b9-916f72ffa95a
        host = media.blueshop.example
        method = GET
        path = /img/29/1158.webp
        query = NULL
        status = 200
        bytes_sent = 6499
        request_bytes = 731
        latency_ms = 1.85
        ttfb_ms = 0.549
        client_ip = 50.30.212.33
        client_port = 19722
        asn = 21839
        country = RS
        city = Sanwofield
        user_agent = Mozilla/5.0 (compatible; examplebot/2.3; +https://crawler.example/bot) AppleWebKit/537.36 Chrome/83.0 Safari/537.36
        referer = NULL
        cache_status = HIT
        pop = bud2
        server = bud2-edge-01
        protocol = h2
        tls_version = TLSv1.3
        content_type = text/css
        level = INFO
        message = cache hit key=7c53947c6ac25f13 object served from memory, age 9065 s, looked up in 833 us"#]].assert_eq(&named.join("\n"));
}

#[test]
fn time_rises_and_follows_the_day() {
    let times = ts(&all(Generator::new(options())));
    assert!(times.is_sorted());
    assert!(times[0] >= START_US && times[times.len() - 1] < START_US + 2 * clock::DAY_US);
    let busy = times.iter().filter(|&&us| (us - START_US) % clock::DAY_US < clock::DAY_US / 2);
    check("first half of the day", busy.count(), 0.5 + 0.6 / std::f64::consts::PI, 0.002);
}

#[test]
fn late_rows_are_late_by_up_to_half_a_minute() {
    let punctual = ts(&all(Generator::new(options())));
    let late = ts(&all(Generator::new(CdnOptions { late_percent: 2.0, ..options() })));
    let moved: Vec<i64> =
        punctual.iter().zip(&late).map(|(a, b)| a - b).filter(|&us| us != 0).collect();
    check("late", moved.len(), 0.02, 0.002);
    assert!(moved.iter().all(|us| (1..=i64::from(LATE_US_MAX)).contains(us)));
}

#[test]
fn shares_are_those_of_the_table() {
    let batch = all(Generator::new(options()));
    let statuses = status(&batch);
    for (code, percent) in names::STATUSES {
        let hits = statuses.iter().filter(|&&status| status == code).count();
        check(&format!("status {code}"), hits, percent / 100.0, 0.004);
    }
    let shares: [(&str, &str, f64); 12] = [
        ("method", "GET", 0.9),
        ("method", "POST", 0.07),
        ("cache_status", "HIT", 0.72),
        ("cache_status", "MISS", 0.16),
        ("cache_status", "DYNAMIC", 0.01),
        ("protocol", "h2", 0.53),
        ("protocol", "h3", 0.25),
        ("protocol", "HTTP/1.1", 0.22),
        ("tls_version", "TLSv1.2", 0.092),
        ("tls_version", "TLSv1.3", 0.828),
        ("level", "ERROR", 0.004),
        ("level", "WARN", 0.019),
    ];
    for (column, value, share) in shares {
        let hits = text(&batch, column).iter().filter(|&&found| found == Some(value)).count();
        check(&format!("{column} {value}"), hits, share, 0.006);
    }
}

#[test]
fn nulls_are_those_of_the_table() {
    let batch = all(Generator::new(options()));
    // A city is null for its addresses, not its rows, so chance has a larger part in it.
    let nulls = [
        ("query", 0.7, 0.006),
        ("ttfb_ms", 0.02, 0.003),
        ("city", 0.1, 0.04),
        ("user_agent", 0.01, 0.002),
        ("referer", 0.55, 0.006),
        ("tls_version", 0.08, 0.004),
        ("content_type", 0.03, 0.003),
    ];
    for (name, share, tolerance) in nulls {
        let column = batch.column_by_name(name).unwrap();
        check(name, column.null_count(), share, tolerance);
    }
    let empty = batch.columns().iter().filter(|column| column.null_count() > 0).count();
    assert_eq!(empty, nulls.len(), "no other column has nulls");
}

#[test]
fn heads_and_tails_are_those_of_zipf() {
    let batch = all(Generator::new(options()));
    let heads = [
        ("host", 0.170, 0.01, 1_800..=2_000),
        ("path", 0.111, 0.01, 20_000..=200_000),
        ("client_ip", 0.037, 0.003, 40_000..=100_000),
        ("user_agent", 0.216, 0.01, 2_000..=3_000),
        ("referer", 0.064, 0.01, 5_000..=20_000),
        ("content_type", 0.27, 0.02, 40..=40),
        ("pop", 0.066, 0.03, 120..=120),
        ("server", 0.004, 0.003, 2_300..=2_400),
        ("country", 0.2, 0.1, 150..=195),
    ];
    for (column, share, tolerance, distinct) in heads {
        let (head, different) = head_and_distinct(&text(&batch, column));
        check(&format!("head of {column}"), head, share, tolerance);
        assert!(distinct.contains(&different), "{column}: {different} different values");
    }
    let ipv6 = text(&batch, "client_ip").iter().flatten().filter(|ip| ip.contains(':')).count();
    check("IPv6", ipv6, 0.05, 0.01);
}

#[test]
fn place_and_network_follow_from_the_address() {
    let batch = all(Generator::new(options()));
    let asn = batch.column_by_name("asn").unwrap().as_primitive::<Int32Type>();
    let places = text(&batch, "country").into_iter().zip(text(&batch, "city")).zip(asn.values());
    let mut known: HashMap<&str, _> = HashMap::new();
    for (ip, place) in text(&batch, "client_ip").into_iter().flatten().zip(places) {
        assert_eq!(*known.entry(ip).or_insert(place), place, "{ip}");
    }
}

#[test]
fn levels_and_messages_follow_from_the_status() {
    let batch = all(Generator::new(options()));
    let levels = text(&batch, "level").into_iter().flatten();
    let messages = text(&batch, "message").into_iter().flatten();
    let mut resets = 0;
    for ((status, level), message) in status(&batch).into_iter().zip(levels).zip(messages) {
        let expected = match status {
            500..=599 => "ERROR",
            400..=403 | 405..=499 => "WARN",
            _ => "INFO",
        };
        assert_eq!(level, expected, "status {status}");
        assert!((60..=200).contains(&message.len()), "{} characters: {message}", message.len());
        let (_, rest) = message.split_once("key=").expect("each message has a key");
        assert!(rest[..16].bytes().all(|byte| byte.is_ascii_hexdigit()), "{message}");
        resets += usize::from(message.contains("Connection reset by peer"));
    }
    check("connection resets", resets, 0.0004, 0.0002);
}

#[test]
fn sizes_and_times_are_sane() {
    let batch = all(Generator::new(options()));
    let column = |name| batch.column_by_name(name).unwrap();
    let sent = column("bytes_sent").as_primitive::<Int64Type>().values().to_vec();
    let latency = column("latency_ms").as_primitive::<Float64Type>().values().to_vec();
    let first = column("ttfb_ms").as_primitive::<Float32Type>();
    let ports = column("client_port").as_primitive::<Int32Type>();
    assert!(ports.values().iter().all(|port| (1_024..=65_535).contains(port)));
    for (at, status) in status(&batch).into_iter().enumerate() {
        assert_eq!(sent[at] == 0, status == 304);
        assert!(latency[at] > if status >= 500 { 900.0 } else { 0.0 });
        let thousandths = latency[at] * 1000.0;
        assert!((thousandths - thousandths.round()).abs() < 1e-6);
        if first.is_valid(at) {
            assert!(f64::from(first.value(at)) <= latency[at] * 1.000_001 + 0.000_5);
        }
    }
    let mut sorted = sent;
    sorted.sort_unstable();
    let median = sorted[sorted.len() / 2] as f64;
    // Five in a hundred are zero, so the median is the 47.4th percentile of the distribution.
    assert!((7_000.0..7_800.0).contains(&median), "median of bytes_sent {median}");
}

#[test]
fn needles_are_where_they_are_said_to_be() {
    let generator = Generator::new(CdnOptions { late_percent: 5.0, ..options() });
    let batch = all(generator.clone());
    let (ids, messages) = (text(&batch, "request_id"), text(&batch, "message"));
    let times = ts(&batch);
    for row in [0, 1, 777, 99_999] {
        let at = usize::try_from(row).unwrap();
        assert_eq!(ids[at], Some(generator.request_id(row).as_str()));
        assert!(messages[at].unwrap().contains(&format!("key={} ", generator.key(row))));
        assert_eq!(times[at], generator.ts_us(row));
    }
    assert_eq!(head_and_distinct(&ids), (1, ids.len()), "ids are unique");
    let ips = text(&batch, "client_ip");
    let hits = |rank| ips.iter().filter(|&&ip| ip == Some(client_ip(rank).as_str())).count();
    check("rank 0", hits(0), 0.037, 0.003);
    check("rank 999", hits(999), 0.000_074, 0.000_06);
}

#[test]
fn ids_have_the_bits_of_their_version() {
    for (uuid, digit) in [(UuidVersion::V4, "4"), (UuidVersion::V7, "7")] {
        let generator = Generator::new(CdnOptions { uuid, rows: 1_000, ..options() });
        let batch = all(generator);
        for (id, us) in text(&batch, "request_id").into_iter().flatten().zip(ts(&batch)) {
            assert_eq!((id.len(), &id[14..15]), (36, digit), "{id}");
            assert!("89ab".contains(&id[19..20]), "{id}");
            if uuid == UuidVersion::V7 {
                let ms = format!("{:012x}", us / 1_000);
                assert_eq!(format!("{}{}", &id[..8], &id[9..13]), ms);
            }
        }
    }
}

#[test]
fn other_types_are_as_announced() {
    let options = CdnOptions { seed: 42, rows: 4_000, batch_rows: 333, ..options() };
    let batches: Vec<RecordBatch> = TypesGenerator::new(options.clone()).collect();
    let batch = concat_batches(&types_schema(), &batches).unwrap();
    let whole = TypesGenerator::new(CdnOptions { batch_rows: 4_000, ..options }).next().unwrap();
    assert!(batch == whole, "batch size shows");
    for (field, column) in types_schema().fields().iter().zip(batch.columns()) {
        let (name, count) = (field.name().as_str(), column.null_count());
        let expected = match name {
            "ts" | "n" | "day" | "constant" => 0..=0,
            "nothing" => 4_000..=4_000,
            "payload" => 320..=480,
            _ => 140..=260,
        };
        assert!(expected.contains(&count), "{name}: {count} nulls");
    }
}
