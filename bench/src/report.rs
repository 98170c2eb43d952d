//! Showing the figures of a run to people, as Markdown that is also readable as it is.
//!
//! Invariant: everything shown is in the JSON too. Left out: judging, which bounds do.

use std::fmt::Write as _;

use crate::figures::{PhaseFigures, QueryFigures, RunFigures};

/// Bytes in a mebibyte.
const MIB: f64 = 1_048_576.0;

/// Returns head and table.
pub(crate) fn render(run: &RunFigures) -> String {
    format!("{}\n{}", head(run), table(&HEADERS, &run.queries.iter().map(row).collect::<Vec<_>>()))
}

fn head(run: &RunFigures) -> String {
    let data = &run.data;
    format!(
        "suite {}: {} rows in {} partitions, {} MiB of data, index and manifests {:.1} %; loaded at {} \
         rows/s\n{} peers, {} ms added to each request, {} rounds of 1 cold, {} warm, 1 restarted; {} \
         cores; version {} ({})\n",
        run.suite,
        data.rows,
        data.partitions,
        mebibytes(data.data_bytes),
        data.index_percent(),
        data.load.rows_per_second,
        run.peers,
        run.delay_ms,
        run.rounds,
        run.repeats,
        run.cores,
        run.version,
        run.profile,
    )
}

/// In each cell with three figures: cold / warm / restarted.
const HEADERS: [&str; 11] = [
    "query",
    "what",
    "rows",
    "cold s",
    "warm s",
    "restarted s",
    "requests c / w / r",
    "MiB c / w / r",
    "chain c / w / r",
    "partitions read / by index / by time",
    "CPU s c / w / r",
];

fn row(query: &QueryFigures) -> Vec<String> {
    let phases = [&query.cold, &query.warm, &query.restarted];
    let of_all = |show: fn(&PhaseFigures) -> String| phases.map(show).join(" / ");
    let statistics = &query.warm.statistics;
    vec![
        query.name.to_owned(),
        query.title.to_owned(),
        query.rows.to_string(),
        seconds(query.cold.seconds),
        seconds(query.warm.seconds),
        seconds(query.restarted.seconds),
        of_all(|phase| phase.requests.to_string()),
        of_all(|phase| mebibytes(phase.bytes)),
        of_all(|phase| phase.round_trips.to_string()),
        format!(
            "{} / {} / {}",
            statistics.partitions_read,
            statistics.partitions_pruned_by_index,
            statistics.partitions_pruned_by_time
        ),
        of_all(|phase| phase.cpu_seconds.map_or_else(|| "-".to_owned(), seconds)),
    ]
}

/// Returns seconds with three digits that count.
fn seconds(seconds: f64) -> String {
    match seconds {
        100.0.. => format!("{seconds:.0}"),
        10.0.. => format!("{seconds:.1}"),
        1.0.. => format!("{seconds:.2}"),
        0.1.. => format!("{seconds:.3}"),
        _ => format!("{seconds:.4}"),
    }
}

fn mebibytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a size that people read")]
    let mebibytes = bytes as f64 / MIB;
    match mebibytes {
        100.0.. => format!("{mebibytes:.0}"),
        10.0.. => format!("{mebibytes:.1}"),
        _ => format!("{mebibytes:.2}"),
    }
}

/// Returns a table whose columns are as wide as their widest cell.
fn table(headers: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize, header: &str| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(header.chars().count())
    };
    let widths: Vec<usize> =
        headers.iter().enumerate().map(|(column, header)| width(column, header)).collect();
    let mut text = String::new();
    push_row(&mut text, headers.iter().copied(), &widths);
    let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
    push_row(&mut text, rules.iter().map(String::as_str), &widths);
    for row in rows {
        push_row(&mut text, row.iter().map(String::as_str), &widths);
    }
    text
}

fn push_row<'a>(text: &mut String, cells: impl Iterator<Item = &'a str>, widths: &[usize]) {
    for (cell, &width) in cells.zip(widths) {
        write!(text, "| {cell:<width$} ").expect("a string takes all text");
    }
    text.push_str("|\n");
}

#[cfg(test)]
pub(crate) mod tests {
    use expect_test::expect;

    use super::*;
    use crate::client::Statistics;
    use crate::figures::{DataFigures, LoadFigures};

    /// Returns a run of one question.
    pub(crate) fn example() -> RunFigures {
        let phase = |seconds: f64, requests: u64, bytes: u64| PhaseFigures {
            seconds,
            seconds_min: seconds / 2.0,
            seconds_max: seconds * 2.0,
            cpu_seconds: Some(seconds / 10.0),
            requests,
            bytes,
            round_trips: requests.min(2),
            statistics: Statistics {
                partitions_total: 20,
                partitions_pruned_by_time: 19,
                partitions_read: 1,
                ..Statistics::default()
            },
            ..PhaseFigures::default()
        };
        RunFigures {
            suite: "logs",
            version: "0.1.0",
            profile: "release",
            cores: 2,
            peers: 3,
            delay_ms: 15,
            rounds: 5,
            repeats: 3,
            data: DataFigures {
                rows: 2_000_000,
                partitions: 20,
                data_bytes: 200 << 20,
                index_bytes: 5 << 20,
                manifest_bytes: 1 << 20,
                load: LoadFigures { seconds: 4.0, rows_per_second: 500_000 },
            },
            queries: vec![QueryFigures {
                name: "q1",
                title: "count in 5 minutes",
                sql: "SELECT 1".to_owned(),
                rows: 1,
                cold: phase(0.25, 3, 3 << 19),
                warm: phase(0.0125, 1, 1 << 16),
                restarted: phase(12.34, 1, 1 << 16),
            }],
        }
    }

    #[test]
    fn a_run_is_a_table() {
        expect![[r#"
            suite logs: 2000000 rows in 20 partitions, 200 MiB of data, index and manifests 3.0 %; loaded at 500000 rows/s
            3 peers, 15 ms added to each request, 5 rounds of 1 cold, 3 warm, 1 restarted; 2 cores; version 0.1.0 (release)

            | query | what               | rows | cold s | warm s | restarted s | requests c / w / r | MiB c / w / r      | chain c / w / r | partitions read / by index / by time | CPU s c / w / r        |
            | ----- | ------------------ | ---- | ------ | ------ | ----------- | ------------------ | ------------------ | --------------- | ------------------------------------ | ---------------------- |
            | q1    | count in 5 minutes | 1    | 0.250  | 0.0125 | 12.3        | 3 / 1 / 1          | 1.50 / 0.06 / 0.06 | 2 / 1 / 1       | 1 / 0 / 19                           | 0.0250 / 0.0013 / 1.23 |
        "#]].assert_eq(&render(&example()));
    }

    #[test]
    fn numbers_have_the_digits_that_count() {
        fn check(value: f64, expected: &str) {
            assert_eq!(seconds(value), expected);
        }
        check(0.0004, "0.0004");
        check(0.01234, "0.0123");
        check(0.1234, "0.123");
        check(1.234, "1.23");
        check(12.34, "12.3");
        check(123.4, "123");
    }

    #[test]
    fn the_json_has_all_figures() {
        let json = serde_json::to_value(example()).expect("figures have a JSON form");
        for pointer in ["/data/load/seconds", "/queries/0/warm/statistics/partitions_read"] {
            assert!(json.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
