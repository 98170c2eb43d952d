//! The HTTP interface by the cases of `testdata/http`, and what no case can say.

use std::collections::BTreeMap;
use std::sync::Arc;

use peerage_testdata::tables;
use serde::Deserialize;

use crate::cluster::{LoadedTables, TestCluster};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    from: Origin,
    request: CaseRequest,
    answer: CaseAnswer,
}

/// Where an expectation comes from; a case without an origin is not accepted.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Origin {
    Recorded,
    Source,
    Ours,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseRequest {
    method: String,
    target: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseAnswer {
    status: u16,
    body: Option<String>,
    #[serde(default)]
    contains: Vec<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

async fn cluster() -> TestCluster {
    let mut files = tables::checked_in();
    files.retain(|table| table.schema == "nyc");
    TestCluster::start(&Arc::new(LoadedTables::load(&files).await), "http", 2).await
}

/// Returns what is wrong with the answer to a case.
async fn check(cluster: &TestCluster, case: &Case) -> Vec<String> {
    let url = format!("http://{}{}", cluster.head, case.request.target);
    let method = case.request.method.parse().expect("a method");
    let mut request = reqwest::Client::new().request(method, url).body(case.request.body.clone());
    for (name, value) in &case.request.headers {
        request = request.header(name, value);
    }
    let response = request.send().await.expect("the head answers");
    let mut wrong = Vec::new();
    let status = response.status().as_u16();
    if status != case.answer.status {
        wrong.push(format!("status {status}, expected {}", case.answer.status));
    }
    for (name, expected) in &case.answer.headers {
        let actual = response.headers().get(name).map(|value| value.to_str().expect("text"));
        if actual != Some(expected) {
            wrong.push(format!("header {name} is {actual:?}, expected {expected:?}"));
        }
    }
    let body = response.text().await.expect("a whole answer");
    if case.answer.body.as_ref().is_some_and(|expected| *expected != body) {
        wrong.push(format!("body {body:?}, expected {:?}", case.answer.body));
    }
    let missing = case.answer.contains.iter().filter(|part| !body.contains(*part));
    wrong.extend(missing.map(|part| format!("body {body:?} does not contain {part:?}")));
    wrong.iter().map(|what| format!("{} ({:?}): {what}", case.name, case.from)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cases() {
    let cluster = cluster().await;
    let text =
        std::fs::read_to_string(peerage_testdata::path("http/interface.yaml")).expect("read");
    let cases: Vec<Case> = serde_saphyr::from_str(&text).expect("well-formed cases");
    assert!(cases.len() >= 30);
    let mut wrong = Vec::new();
    for case in &cases {
        wrong.extend(check(&cluster, case).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_answers_are_streamed_and_broken_off_by_a_marked_exception() {
    let mut files = tables::checked_in();
    files.retain(|table| table.schema == "nyc" && table.table == "flights");
    let cluster = TestCluster::start(&Arc::new(LoadedTables::load(&files).await), "long", 1).await;
    // Tens of megabytes of rows, and a division by zero in the last rows of the last partition.
    let sql = "SELECT f.*, CAST(1 AS BIGINT) / CASE WHEN time_hour >= TIMESTAMP '2013-12-31T12:00:00Z' \
               THEN 0 ELSE 1 END AS boom FROM nyc.flights f";
    let client = reqwest::Client::new();
    let url = format!("http://{}/?default_format=TSV", cluster.head);
    let response = client.post(url).body(sql).send().await.expect("answers");
    assert_eq!(response.status().as_u16(), 200, "rows come before the error");
    let tag = response.headers()["x-clickhouse-exception-tag"].to_str().expect("text").to_owned();
    let mut response = response;
    let mut body = Vec::new();
    let broke_off = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    let text = String::from_utf8_lossy(&body);
    assert!(broke_off, "the connection is broken off after an exception");
    assert!(
        text.contains(&format!("\r\n__exception__\r\n{tag}\r\n")),
        "{}",
        &text[text.len() - 500..]
    );
    assert!(text.ends_with(&format!(" {tag}\r\n__exception__\r\n")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_format_is_written() {
    let cluster = cluster().await;
    let sql = "SELECT carrier, name, length(name) AS n FROM nyc.airlines ORDER BY carrier LIMIT 2";
    let formats = [
        ("TabSeparated", "9E\tEndeavor Air Inc.\t17\nAA\tAmerican Airlines Inc.\t22\n"),
        ("TabSeparatedWithNames", "carrier\tname\tn\n9E\t"),
        ("TabSeparatedWithNamesAndTypes", "carrier\tname\tn\nNullable(String)\tNullable(String)\t"),
        ("CSV", "\"9E\",\"Endeavor Air Inc.\",17\n"),
        ("CSVWithNames", "\"carrier\",\"name\",\"n\"\n"),
        ("JSON", "\"rows\": 2"),
        ("JSONCompact", "[\"9E\", \"Endeavor Air Inc.\", 17]"),
        ("JSONEachRow", "{\"carrier\":\"9E\",\"name\":\"Endeavor Air Inc.\",\"n\":17}\n"),
        ("Pretty", "┃ carrier ┃"),
        ("Vertical", "Row 1:\n──────\ncarrier: 9E\n"),
        ("Values", "('9E','Endeavor Air Inc.',17),("),
        ("Null", ""),
    ];
    for (format, expected) in formats {
        let answer = cluster.query(sql, format).await;
        assert_eq!(answer.status, 200, "{format}: {}", answer.text());
        assert!(answer.text().contains(expected), "{format}: {}", answer.text());
        assert_eq!(answer.headers["x-clickhouse-format"], format);
    }
    let batches = cluster.query(sql, "ArrowStream").await.batches();
    assert_eq!(batches.iter().map(arrow::array::RecordBatch::num_rows).sum::<usize>(), 2);
    let parquet = bytes::Bytes::from(cluster.query(sql, "Parquet").await.body);
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(parquet, 10);
    let rows: usize =
        reader.expect("a Parquet file").map(|batch| batch.expect("rows").num_rows()).sum();
    assert_eq!(rows, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_zone_of_a_session_reaches_the_peers() {
    let cluster = cluster().await;
    let ask = async |target: &str, sql: &str| {
        cluster.request(reqwest::Method::POST, target, sql).await.text()
    };
    // Computed on the peers. The engine takes the number for a local time: one o'clock in Berlin is
    // the epoch itself.
    let hours = "SELECT max(CAST(to_timestamp(CAST(month AS BIGINT) * 3600) AS BIGINT)) AS t FROM \
                 nyc.flights WHERE month < 2";
    assert_eq!(ask("/", hours).await, "3600000000000\n");
    assert_eq!(ask("/?session_timezone=Europe/Berlin", hours).await, "0\n");
    let text = "SELECT max(to_timestamp(concat('2026-07-01 12:00:0', CAST(month % 10 AS VARCHAR)))) AS t \
                FROM nyc.flights";
    assert_eq!(ask("/", text).await, "2026-07-01 12:00:09.000000000\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_cannot_make_a_peer_lost() {
    let cluster = cluster().await;
    let url = format!("http://{}/", cluster.peer_address(0));
    let sql =
        format!("SELECT CAST(concat('peer lost: {url} x', name) AS BIGINT) FROM nyc.airlines");
    let answer = cluster.query(&sql, "TSV").await;
    assert_eq!(answer.status, 500, "{}", answer.text());
    // The peer answers when it is asked, so it is not suspected and gets the next query's work.
    assert_eq!(cluster.query("SELECT sum(year) FROM nyc.flights", "TSV").await.count("peers"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_scalar_subqueries_give_one_value_or_an_error() {
    let cluster = cluster().await;
    let check = async |sql: &str, status: u16, text: &str| {
        let answer = cluster.query(sql, "TSV").await;
        assert_eq!(answer.status, status, "{sql}: {}", answer.text());
        assert!(answer.text().contains(text), "{sql}: {}", answer.text());
    };
    let inner = "(SELECT carrier FROM nyc.airlines WHERE name LIKE 'Envoy%')";
    let one = format!("SELECT (SELECT name FROM nyc.airlines WHERE carrier = {inner}) AS n");
    check(&one, 200, "Envoy Air").await;
    let many = format!("SELECT (SELECT name FROM nyc.airlines WHERE carrier > {inner}) AS n");
    check(&many, 400, "more than one row").await;
    check("SELECT (SELECT name FROM nyc.airlines WHERE carrier = 'ZZ') AS n", 200, "\\N").await;
    let filter = "SELECT count(*) FROM nyc.flights WHERE carrier = (SELECT carrier FROM nyc.airlines \
                  WHERE name LIKE 'Envoy%')";
    check(filter, 200, "26397").await;
}
