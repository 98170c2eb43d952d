//! The answer of `inspect`: decoding what was read, and showing it as text or JSON.
//!
//! Invariant: a part that does not decode becomes a line that says why; the other parts are shown
//! all the same.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow::datatypes::{DataType, TimeUnit};
use bytes::Bytes;
use indicatif::{HumanBytes, HumanCount};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use peerage_partition::{
    Checksum, FileRef, Index, Manifest, PartitionColumn, Value, decode_parquet_metadata,
};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::inspect::{PartitionFile, PartitionFiles};
use crate::output::text_table;
use crate::table::time_text;

/// What was found out about a partition.
#[derive(Debug, Serialize)]
pub(crate) struct PartitionReport {
    target: String,
    files: Vec<FileReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<Decoded<ManifestReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Decoded<IndexReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Decoded<DataReport>>,
}

/// A part, or why it does not decode.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Decoded<T> {
    Ok(T),
    Error(String),
}

/// One file and whether it is what it should be.
#[derive(Debug, Serialize)]
struct FileReport {
    file: &'static str,
    place: String,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
    verdict: String,
}

/// What the manifest says.
#[derive(Debug, Serialize)]
struct ManifestReport {
    name: String,
    rows: u64,
    block_rows: u32,
    writer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    primary: Option<String>,
    min_ms: i64,
    max_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<String>,
    columns: Vec<ColumnReport>,
}

/// One column in the manifest.
#[derive(Debug, Serialize)]
struct ColumnReport {
    id: u32,
    name: String,
    #[serde(rename = "type")]
    data_type: String,
    nullable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<String>,
    has_exact_bounds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    null_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distinct_estimate: Option<u64>,
    has_bloom: bool,
}

/// What the index holds.
#[derive(Debug, Serialize)]
struct IndexReport {
    rows: u64,
    block_rows: u32,
    blocks: u32,
    sections: Vec<SectionReport>,
}

/// One section of the index.
#[derive(Debug, Serialize)]
struct SectionReport {
    kind: &'static str,
    code: u16,
    column: u32,
    offset: u64,
    bytes: u64,
    checksum: String,
    verdict: &'static str,
}

/// What the data file holds, by its footer.
#[derive(Debug, Serialize)]
struct DataReport {
    rows: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<String>,
    row_groups: Vec<RowGroupReport>,
    columns: Vec<DataColumnReport>,
}

/// One row group.
#[derive(Debug, Serialize)]
struct RowGroupReport {
    rows: i64,
    compressed_bytes: i64,
    uncompressed_bytes: i64,
}

/// One column of the data file, over all row groups.
#[derive(Debug, Serialize)]
struct DataColumnReport {
    name: String,
    physical_type: String,
    compression: String,
    compressed_bytes: i64,
    uncompressed_bytes: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<usize>,
}

impl PartitionReport {
    /// Decodes what was read.
    pub(crate) fn new(target: &str, files: &PartitionFiles) -> Self {
        let manifest = files.manifest.as_ref().and_then(|file| file.bytes.as_ref());
        let manifest = manifest.map(|bytes| Manifest::decode(bytes));
        let known = manifest.as_ref().and_then(|manifest| manifest.as_ref().ok());
        let by_manifest = |of: fn(&Manifest) -> FileRef| known.map(of);
        let reports = [
            files.manifest.as_ref().map(|file| check_file("manifest", file, None)),
            files
                .index
                .as_ref()
                .map(|file| check_file("index", file, by_manifest(Manifest::index_ref))),
            files
                .data
                .as_ref()
                .map(|file| check_file("data", file, by_manifest(Manifest::data_ref))),
        ];
        let index_bytes = files.index.as_ref().and_then(|file| file.bytes.clone());
        let metadata = read_metadata(files, index_bytes.as_ref());
        Self {
            target: target.to_owned(),
            files: reports.into_iter().flatten().collect(),
            index: index_bytes.map(|bytes| decoded(index_report(&bytes))),
            data: metadata.map(|metadata| decoded(metadata.map(|metadata| data_report(&metadata)))),
            manifest: manifest.map(|manifest| {
                decoded(manifest.map(|manifest| manifest_report(&manifest)).map_err(|e| chain(&e)))
            }),
        }
    }

    /// Returns the report as JSON.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string_pretty(self)
            .unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
    }

    /// Returns the report as text.
    pub(crate) fn text(&self) -> String {
        let mut parts = vec![self.files_text()];
        if let Some(manifest) = &self.manifest {
            parts.push(part_text("manifest", manifest, manifest_text));
        }
        if let Some(index) = &self.index {
            parts.push(part_text("index", index, index_text));
        }
        if let Some(data) = &self.data {
            parts.push(part_text("data", data, data_text));
        }
        parts.join("\n\n")
    }

    /// Returns the files as text.
    fn files_text(&self) -> String {
        let row = |file: &FileReport| {
            vec![
                file.file.to_owned(),
                file.bytes.to_string(),
                file.checksum.clone().unwrap_or_else(|| "-".to_owned()),
                file.verdict.clone(),
                file.place.clone(),
            ]
        };
        let header = [
            ("file", false),
            ("bytes", true),
            ("xxh3-128", false),
            ("verdict", false),
            ("place", false),
        ];
        text_table(&header, &self.files.iter().map(row).collect::<Vec<_>>())
    }
}

/// Returns a part as it is reported.
fn decoded<T>(part: Result<T, String>) -> Decoded<T> {
    match part {
        Ok(part) => Decoded::Ok(part),
        Err(reason) => Decoded::Error(reason),
    }
}

/// Returns an error with all its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": caused by ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Compares a file with what the catalog and the manifest say about it.
fn check_file(
    name: &'static str,
    file: &PartitionFile,
    by_manifest: Option<FileRef>,
) -> FileReport {
    let found = file.bytes.as_ref().map(|bytes| Checksum::of(bytes));
    let compare = |source: &str, expected: FileRef| {
        if expected.bytes != file.size {
            return format!("{source} says {} bytes", expected.bytes);
        }
        match found {
            Some(found) if found != expected.checksum => {
                format!("WRONG: {source} says {}", expected.checksum)
            }
            Some(_) => format!("as {source} says"),
            None => format!("size as {source} says, not read"),
        }
    };
    let verdicts: Vec<String> = [
        file.expected.map(|expected| compare("the catalog", expected)),
        by_manifest.map(|expected| compare("the manifest", expected)),
    ]
    .into_iter()
    .flatten()
    .collect();
    FileReport {
        file: name,
        place: file.place.clone(),
        bytes: file.size,
        checksum: found.map(|checksum| checksum.to_string()),
        verdict: if verdicts.is_empty() {
            "nothing to compare with".to_owned()
        } else {
            verdicts.join(", ")
        },
    }
}

/// Returns what the manifest says.
fn manifest_report(manifest: &Manifest) -> ManifestReport {
    let schema = manifest.schema();
    let primary = schema.primary().and_then(|id| {
        schema
            .columns()
            .iter()
            .find(|column| column.id == id)
            .map(|column| column.field.name().clone())
    });
    let column = |column: &PartitionColumn| {
        let stats = manifest.stats(column.id);
        let shown =
            |value: Option<&Value>| value.map(|value| value_text(value, column.field.data_type()));
        ColumnReport {
            id: column.id.0,
            name: column.field.name().clone(),
            data_type: column.field.data_type().to_string(),
            nullable: column.field.is_nullable(),
            min: shown(stats.and_then(|stats| stats.min.as_ref())),
            max: shown(stats.and_then(|stats| stats.max.as_ref())),
            has_exact_bounds: stats.is_some_and(|stats| stats.exact_bounds),
            null_count: stats.map(|stats| stats.null_count),
            distinct_estimate: stats.and_then(|stats| stats.distinct_estimate),
            has_bloom: manifest.bloom(column.id).is_some(),
        }
    };
    ManifestReport {
        name: manifest.name().to_string(),
        rows: manifest.rows(),
        block_rows: manifest.block_rows(),
        writer: manifest.writer_version().to_owned(),
        primary,
        min_ms: manifest.min_ms(),
        max_ms: manifest.max_ms(),
        shard: manifest.shard().map(ToOwned::to_owned),
        columns: schema.columns().iter().map(column).collect(),
    }
}

/// Returns what the index holds, each section checked.
fn index_report(bytes: &Bytes) -> Result<IndexReport, String> {
    let index = Index::open(bytes.as_ref()).map_err(|error| chain(&error))?;
    let sections = index.sections().map(|entry| {
        let start = usize::try_from(entry.offset).unwrap_or(usize::MAX);
        let length = usize::try_from(entry.length).unwrap_or(usize::MAX);
        let section = bytes.get(start..start.saturating_add(length));
        let is_right = section.map(xxh3_64) == Some(entry.checksum);
        SectionReport {
            kind: entry.kind.name(),
            code: entry.kind.code(),
            column: entry.column.0,
            offset: entry.offset,
            bytes: entry.length,
            checksum: format!("{:016x}", entry.checksum),
            verdict: if is_right { "ok" } else { "WRONG" },
        }
    });
    Ok(IndexReport {
        rows: index.row_count(),
        block_rows: index.block_rows(),
        blocks: index.block_count(),
        sections: sections.collect(),
    })
}

/// Reads the footer of the data file: from the index, as a peer does, or from the file itself.
/// Parquet's decoder may panic on a malformed file; that is reported like any other fault.
fn read_metadata(
    files: &PartitionFiles,
    index: Option<&Bytes>,
) -> Option<Result<ParquetMetaData, String>> {
    let read = || -> Option<Result<ParquetMetaData, String>> {
        if let Some(index) = index {
            let from_index = Index::open(index.as_ref())
                .and_then(|index| decode_parquet_metadata(&index.parquet_tail()?));
            if let Ok(metadata) = from_index {
                return Some(Ok(metadata));
            }
        }
        let data = files.data.as_ref()?.bytes.as_ref()?;
        let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
        Some(reader.parse_and_finish(data).map_err(|error| chain(&error)))
    };
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Some(Err("the file is malformed; its decoder stopped".to_owned())))
}

/// Returns what the footer says.
fn data_report(metadata: &ParquetMetaData) -> DataReport {
    let file = metadata.file_metadata();
    let mut columns: Vec<DataColumnReport> = Vec::new();
    for (group, row_group) in metadata.row_groups().iter().enumerate() {
        for (place, chunk) in row_group.columns().iter().enumerate() {
            let pages = page_count(metadata, group, place);
            match columns.get_mut(place) {
                Some(column) => {
                    column.compressed_bytes =
                        column.compressed_bytes.saturating_add(chunk.compressed_size());
                    column.uncompressed_bytes =
                        column.uncompressed_bytes.saturating_add(chunk.uncompressed_size());
                    column.pages = column.pages.zip(pages).map(|(before, pages)| before + pages);
                }
                None => columns.push(DataColumnReport {
                    name: chunk.column_path().string(),
                    physical_type: chunk.column_type().to_string(),
                    compression: compression_name(&chunk.compression().to_string()),
                    compressed_bytes: chunk.compressed_size(),
                    uncompressed_bytes: chunk.uncompressed_size(),
                    pages,
                }),
            }
        }
    }
    let groups = metadata.row_groups().iter().map(|group| RowGroupReport {
        rows: group.num_rows(),
        compressed_bytes: group.compressed_size(),
        uncompressed_bytes: group.total_byte_size(),
    });
    DataReport {
        rows: file.num_rows(),
        created_by: file.created_by().map(ToOwned::to_owned),
        row_groups: groups.collect(),
        columns,
    }
}

/// Returns the name of a compression; the level that the library prints is not in the file.
fn compression_name(text: &str) -> String {
    text.split('(').next().unwrap_or_default().to_ascii_lowercase()
}

/// Returns the number of pages of a column chunk, if the file has a page index.
fn page_count(metadata: &ParquetMetaData, group: usize, column: usize) -> Option<usize> {
    let index = metadata.offset_index()?.get(group)?.get(column)?;
    Some(index.page_locations().len())
}

/// Returns a value of the statistics as people read it.
fn value_text(value: &Value, data_type: &DataType) -> String {
    match (value, data_type) {
        (Value::Bool(value), _) => value.to_string(),
        (Value::Int(value), DataType::Timestamp(unit, _)) => {
            let (per_ms, is_finer) = match unit {
                TimeUnit::Second => (1_000, false),
                TimeUnit::Millisecond => (1, false),
                TimeUnit::Microsecond => (1_000, true),
                TimeUnit::Nanosecond => (1_000_000, true),
            };
            let ms = if is_finer { value.div_euclid(per_ms) } else { value.saturating_mul(per_ms) };
            time_text(ms)
        }
        (Value::Int(value), DataType::Date32) => {
            let text = time_text(value.saturating_mul(86_400_000));
            text.split('T').next().unwrap_or_default().to_owned()
        }
        (Value::Int(value), _) => value.to_string(),
        (Value::UInt(value), _) => value.to_string(),
        (Value::Float(value), _) => value.to_string(),
        (Value::Bytes(value), DataType::Utf8) => {
            String::from_utf8_lossy(value).escape_debug().to_string()
        }
        (Value::Bytes(value), _) => value.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// Returns a part with its title.
fn part_text<T>(title: &str, part: &Decoded<T>, show: fn(&T) -> String) -> String {
    match part {
        Decoded::Ok(part) => format!("{title}\n{}", show(part)),
        Decoded::Error(reason) => format!("{title}\ndoes not decode: {reason}"),
    }
}

/// Characters of a bound that the text shows.
const BOUND_CHARS_MAX: usize = 32;

/// Returns the manifest as text.
fn manifest_text(manifest: &ManifestReport) -> String {
    let short = |bound: &Option<String>| {
        bound.as_deref().unwrap_or("-").chars().take(BOUND_CHARS_MAX).collect::<String>()
    };
    let count =
        |count: Option<u64>| count.map_or("-".to_owned(), |count| HumanCount(count).to_string());
    let row = |column: &ColumnReport| {
        vec![
            column.id.to_string(),
            column.name.clone(),
            column.data_type.clone(),
            if column.nullable { "null" } else { "not null" }.to_owned(),
            count(column.null_count),
            count(column.distinct_estimate),
            short(&column.min),
            short(&column.max),
            if column.has_bloom { "bloom" } else { "" }.to_owned(),
        ]
    };
    let header = [
        ("id", true),
        ("column", false),
        ("type", false),
        ("null", false),
        ("nulls", true),
        ("distinct", true),
        ("min", false),
        ("max", false),
        ("filter", false),
    ];
    let mut lines = vec![
        format!("name     {}", manifest.name),
        format!("rows     {} in blocks of {}", HumanCount(manifest.rows), manifest.block_rows),
        format!("writer   {}", manifest.writer),
    ];
    if let Some(primary) = &manifest.primary {
        let (min, max) = (time_text(manifest.min_ms), time_text(manifest.max_ms));
        lines.push(format!("primary  {primary}, {min} to {max}"));
    }
    if let Some(shard) = &manifest.shard {
        lines.push(format!("shard    {shard}"));
    }
    lines.push(text_table(&header, &manifest.columns.iter().map(row).collect::<Vec<_>>()));
    lines.join("\n")
}

/// Returns the index as text.
fn index_text(index: &IndexReport) -> String {
    let row = |section: &SectionReport| {
        vec![
            section.kind.to_owned(),
            section.column.to_string(),
            section.offset.to_string(),
            section.bytes.to_string(),
            section.checksum.clone(),
            section.verdict.to_owned(),
        ]
    };
    let header = [
        ("section", false),
        ("column", true),
        ("offset", true),
        ("bytes", true),
        ("xxh3-64", false),
        ("verdict", false),
    ];
    let head = format!(
        "rows     {} in {} blocks of {}",
        HumanCount(index.rows),
        index.blocks,
        index.block_rows
    );
    format!("{head}\n{}", text_table(&header, &index.sections.iter().map(row).collect::<Vec<_>>()))
}

/// Returns the data file as text.
fn data_text(data: &DataReport) -> String {
    let bytes = |bytes: i64| HumanBytes(u64::try_from(bytes).unwrap_or(0)).to_string();
    let row = |column: &DataColumnReport| {
        vec![
            column.name.clone(),
            column.physical_type.clone(),
            column.compression.clone(),
            bytes(column.compressed_bytes),
            bytes(column.uncompressed_bytes),
            column.pages.map_or("-".to_owned(), |pages| pages.to_string()),
        ]
    };
    let header = [
        ("column", false),
        ("type", false),
        ("compression", false),
        ("stored", true),
        ("plain", true),
        ("pages", true),
    ];
    let groups: Vec<String> = data
        .row_groups
        .iter()
        .map(|group| format!("{} rows ({})", group.rows, bytes(group.compressed_bytes)))
        .collect();
    let mut lines = vec![format!("rows     {}", data.rows)];
    if let Some(created_by) = &data.created_by {
        lines.push(format!("writer   {created_by}"));
    }
    lines.push(format!("groups   {}: {}", groups.len(), groups.join(", ")));
    lines.push(text_table(&header, &data.columns.iter().map(row).collect::<Vec<_>>()));
    lines.join("\n")
}
