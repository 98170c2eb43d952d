//! Every format against every recorded case: the bytes are the same.

use crate::inputs::{batches, from_arrow, from_parquet, root};
use arrow::array::RecordBatch;
use peerage_clickhouse::{
    ClickHouseType, FormatSettings, FormatWriter, OutputFormat, ResultColumn, ResultSummary,
};
use serde_json::Value;
use std::fs;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

static CASES: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_slice(&fs::read(root().join("cases.json")).unwrap()).unwrap()
});

/// Returns the columns of a case: names and types as ClickHouse has them, over the fields of the rows.
fn columns(case: &str, rows: &RecordBatch) -> Vec<ResultColumn> {
    let described = CASES["cases"][case]["columns"].as_array().unwrap();
    std::iter::zip(described, rows.schema().fields())
        .map(|(described, field)| {
            let (name, type_text) =
                (described[0].as_str().unwrap(), described[1].as_str().unwrap());
            let data_type: ClickHouseType = type_text.parse().unwrap();
            let mut column =
                ResultColumn::from_field(Arc::clone(field)).with_type(data_type).with_name(name);
            if type_text.starts_with("Nested(") {
                column.type_text = type_text.to_string();
            }
            column
        })
        .collect()
}

fn settings(case: &str) -> FormatSettings {
    let mut settings = FormatSettings { write_statistics: false, ..FormatSettings::default() };
    for (name, value) in CASES["cases"][case]["settings"].as_object().unwrap() {
        settings.set(name, value.as_str().unwrap().trim_matches('\'')).unwrap();
    }
    settings
}

/// Returns what the engine said at the end; the time is the one in the file.
fn summary(case: &str, golden: &[u8]) -> ResultSummary {
    let elapsed = serde_json::from_slice::<Value>(golden)
        .ok()
        .and_then(|document| document["statistics"]["elapsed"].as_f64())
        .unwrap_or_default();
    ResultSummary {
        rows: 0,
        rows_before_limit: match case {
            "names" => Some(1),
            "limit_rows_before" => Some(2),
            _ => None,
        },
        elapsed: Duration::from_secs_f64(elapsed),
        rows_read: 1,
        bytes_read: 1,
    }
}

fn written(case: &str, format: OutputFormat, rows: &[RecordBatch], golden: &[u8]) -> Vec<u8> {
    let mut writer = FormatWriter::new(format, columns(case, &rows[0]), settings(case));
    let mut out = Vec::new();
    writer.start(&mut out).unwrap();
    for batch in rows {
        writer.write(batch, &mut out).unwrap_or_else(|error| panic!("{case} {format}: {error}"));
    }
    writer.finish(&summary(case, golden), &mut out).unwrap();
    out
}

/// Returns the golden files of a case with the format of each.
fn golden_files(case: &str) -> Vec<(OutputFormat, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(root().join("golden").join(case))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            (name.parse::<OutputFormat>().unwrap(), fs::read(&path).unwrap())
        })
        .collect();
    files.sort_by_key(|(format, _)| format.name());
    files
}

fn case_names() -> impl Iterator<Item = &'static str> {
    CASES["cases"].as_object().unwrap().keys().map(String::as_str)
}

#[test]
fn text_formats_are_byte_for_byte_those_of_clickhouse() {
    let mut compared = 0;
    let mut wrong = Vec::new();
    for case in case_names() {
        let rows = batches(case);
        for (format, golden) in golden_files(case) {
            if matches!(format, OutputFormat::ArrowStream | OutputFormat::Parquet) {
                continue;
            }
            let out = written(case, format, &rows, &golden);
            compared += 1;
            if out != golden {
                wrong.push(format!(
                    "{case} {format}\n--- expected\n{}\n--- written\n{}",
                    String::from_utf8_lossy(&golden),
                    String::from_utf8_lossy(&out)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 700, "only {compared} files were compared");
}

#[test]
fn arrow_and_parquet_decode_to_what_clickhouse_sends() {
    let mut compared = 0;
    for case in case_names() {
        for (format, golden) in golden_files(case) {
            match format {
                OutputFormat::ArrowStream => {
                    let rows = from_arrow(&golden);
                    let out = written(case, format, &rows, &golden);
                    assert_eq!(from_arrow(&out), rows, "{case} {format}");
                }
                OutputFormat::Parquet => {
                    let rows = from_parquet(golden.clone());
                    let out = written(case, format, &rows, &golden);
                    assert_eq!(from_parquet(out), rows, "{case} {format}");
                }
                _ => continue,
            }
            compared += 1;
        }
    }
    assert!(compared > 30, "only {compared} files were compared");
}

#[test]
fn rows_out_of_parquet_print_like_those_out_of_arrow() {
    for case in ["uint", "int", "nullable", "array", "map", "tuple", "empty"] {
        let golden = fs::read(root().join(format!("golden/{case}/Parquet.parquet"))).unwrap();
        let rows = from_parquet(golden);
        for (format, golden) in golden_files(case) {
            if matches!(
                format,
                OutputFormat::TabSeparated | OutputFormat::JSON | OutputFormat::Pretty
            ) {
                let out = written(case, format, &rows, &golden);
                assert_eq!(
                    String::from_utf8_lossy(&out),
                    String::from_utf8_lossy(&golden),
                    "{case} {format}"
                );
            }
        }
    }
}

#[test]
fn batches_may_be_cut_anywhere() {
    for case in ["string", "nullable", "map", "multiblock"] {
        let rows = batches(case);
        let single: Vec<_> = rows
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(|row| batch.slice(row, 1)))
            .collect();
        for (format, golden) in golden_files(case) {
            if !matches!(format, OutputFormat::ArrowStream | OutputFormat::Parquet) {
                assert_eq!(written(case, format, &single, &golden), golden, "{case} {format}");
            }
        }
    }
}
