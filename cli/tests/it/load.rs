//! Loading: formats, order, bad rows, schema changes, all or nothing.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, TimestampMicrosecondType};
use expect_test::expect;
use futures::StreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::ArrowWriter;
use peerage::load::{
    Compression, InputFormat, InputPlace, LoadInput, LoadOptions, LoadRequest, LoadSource,
    SilentProgress,
};
use peerage::open::OpenCluster;

use crate::fixture::Fixture;

const CSV: &str = "\
ts,host,bytes
2015-05-17T10:05:03Z,b.example,20
2015-05-17T10:05:01Z,\"a, or
c\",10
2015-05-18T00:00:00Z,,
";

const NDJSON: &str = "\
{\"ts\":\"2015-05-17T10:05:03Z\",\"host\":\"b.example\",\"bytes\":20}
{\"ts\":\"2015-05-17T10:05:01Z\",\"host\":\"a, or\\nc\",\"bytes\":10}
{\"ts\":\"2015-05-18T00:00:00Z\",\"host\":null}
";

/// The same three rows as a Parquet file.
fn parquet() -> Vec<u8> {
    let times = ["2015-05-17T10:05:03Z", "2015-05-17T10:05:01Z", "2015-05-18T00:00:00Z"];
    let columns: [(&str, ArrayRef); 3] = [
        ("ts", Arc::new(StringArray::from(times.to_vec()))),
        ("host", Arc::new(StringArray::from(vec![Some("b.example"), Some("a, or\nc"), None]))),
        ("bytes", Arc::new(Int64Array::from(vec![Some(20), Some(10), None]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("batch");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("writer");
    writer.write(&batch).expect("write");
    writer.into_inner().expect("file")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_format_and_compression_gives_the_same_sorted_rows() {
    let parquet = parquet();
    let inputs: [(&str, &[u8]); 9] = [
        ("a.csv", CSV.as_bytes()),
        ("a.csv.gz", CSV.as_bytes()),
        ("a.csv.zst", CSV.as_bytes()),
        ("a.ndjson", NDJSON.as_bytes()),
        ("a.jsonl.gz", NDJSON.as_bytes()),
        ("a.json.zst", NDJSON.as_bytes()),
        ("a.parquet", &parquet),
        ("a.parquet.gz", &parquet),
        ("a.pq.zst", &parquet),
    ];
    for (name, content) in inputs {
        let fixture = Fixture::new();
        let path = fixture.write(name, content);
        let summary = fixture.load(&["--timestamp", "ts", &path]).await.expect(name);
        assert_eq!((summary.rows, summary.partitions, summary.rejected), (3, 1, 0), "{name}");
        assert!(summary.is_new_table && summary.bytes_in > 0 && summary.bytes_out > 0, "{name}");
        expect![[r#"
            +----------------------+-----------+-------+
            | ts                   | host      | bytes |
            +----------------------+-----------+-------+
            | 2015-05-17T10:05:01Z | a, or     | 10    |
            |                      | c         |       |
            | 2015-05-17T10:05:03Z | b.example | 20    |
            | 2015-05-18T00:00:00Z |           |       |
            +----------------------+-----------+-------+"#]]
        .assert_eq(&fixture.text().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_cut_by_span_and_count_and_sorted_in_each_partition() {
    let fixture = Fixture::new();
    let mut text = String::from("ts,n,g\n");
    // Two days, hopelessly out of order: 7919 is prime to 10,000.
    for row in 0..10_000_u64 {
        let place = row * 7_919 % 10_000;
        text += &format!("{},{row},{}\n", 1_431_820_800 + place * 17, row % 3);
    }
    let path = fixture.write("a.csv", text.as_bytes());
    let arguments = [
        "--timestamp",
        "ts",
        "--timestamp-format",
        "epoch_s",
        "--partition-span",
        "1d",
        "--partition-rows",
        "3000",
        "--sort-by",
        "g,n",
        &path,
    ];
    let summary = fixture.load(&arguments).await.expect("load");
    assert_eq!(summary.rows, 10_000);
    let partitions = fixture.partitions().await;
    let day = |ms: i64| ms.div_euclid(86_400_000);
    assert!(
        partitions
            .iter()
            .all(|partition| day(partition.name.min_ms()) == day(partition.name.max_ms()))
    );
    assert!(partitions.iter().all(|partition| partition.rows <= 3_000));
    assert_eq!(partitions.len(), 4, "5,083 and 4,917 rows");
    assert!(partitions.iter().all(|partition| partition.path.starts_with("db/t/2015/05/1")));

    let rows = fixture.rows().await;
    let mut seen: Vec<i64> =
        rows["n"].as_primitive::<arrow::datatypes::Int64Type>().values().to_vec();
    let mut begin = 0;
    for partition in &partitions {
        let length = usize::try_from(partition.rows).expect("small");
        let slice = rows.slice(begin, length);
        let key = |row: usize| {
            let number =
                |name: &str| slice[name].as_primitive::<arrow::datatypes::Int64Type>().value(row);
            let time =
                slice["ts"].as_primitive::<arrow::datatypes::TimestampSecondType>().value(row);
            (time, number("g"), number("n"))
        };
        assert!((1..length).all(|row| key(row - 1) <= key(row)), "{}", partition.name);
        begin += length;
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..10_000).collect::<Vec<_>>());
}

const BAD_CSV: &str = "\
ts,n,note
2015-05-17T10:05:01Z,1,good
2015-05-17T10:05:02Z,two,bad number
not a time,3,bad time
,4,no time
2015-05-17T10:05:05Z,5,\"two
lines\"
2015-05-17T10:05:06Z,6
2015-05-17T10:05:07Z,7,good
";

#[tokio::test(flavor = "multi_thread")]
async fn the_first_bad_row_ends_the_load_and_leaves_nothing() {
    let fixture = Fixture::new();
    let path = fixture.write("bad.csv", BAD_CSV.as_bytes());
    let arguments = ["--timestamp", "ts", "--schema", "n int64", &path];
    expect!["error: bad.csv, line 3: column n: 'two': does not fit Int64; try --on-error skip --reject-file rejects.tsv to load the other rows, or --schema to set the types"]
        .assert_eq(&fixture.load_error(&arguments).await);
    let tables = fixture.open().await.catalog.tables().await.expect("tables");
    assert!(tables.is_empty(), "the table was not created");
    assert_eq!(fixture.stored_files(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_rows_are_skipped_counted_and_kept() {
    let fixture = Fixture::new();
    let path = fixture.write("bad.csv", BAD_CSV.as_bytes());
    let rejects = fixture.path("rejects.tsv").display().to_string();
    let arguments = [
        "--timestamp",
        "ts",
        "--schema",
        "n int64",
        "--on-error",
        "skip",
        "--reject-file",
        &rejects,
        &path,
    ];
    let summary = fixture.load(&arguments).await.expect("load");
    assert_eq!((summary.rows, summary.rejected), (3, 4));
    let rejected = std::fs::read_to_string(&rejects).expect("reject file");
    expect![[r"
        bad.csv:3	column n: 'two': does not fit Int64	2015-05-17T10:05:02Z,two,bad number
        bad.csv:4	column ts: 'not a time': not a timestamp in a known form	not a time,3,bad time
        bad.csv:5	column ts: no value for the primary timestamp	,4,no time
        bad.csv:8	wrong number of fields: expected 3 got 2	2015-05-17T10:05:06Z,6
    "]]
    .assert_eq(&rejected.replace(
        &format!("{}/", fixture.path("").display().to_string().trim_end_matches('/')),
        "",
    ));
    expect![[r#"
        +---+----------------------+-------+
        | n | ts                   | note  |
        +---+----------------------+-------+
        | 1 | 2015-05-17T10:05:01Z | good  |
        | 5 | 2015-05-17T10:05:05Z | two   |
        |   |                      | lines |
        | 7 | 2015-05-17T10:05:07Z | good  |
        +---+----------------------+-------+"#]]
    .assert_eq(&fixture.text().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_json_lines_and_bad_rows_of_parquet_are_named() {
    let fixture = Fixture::new();
    let path = fixture
        .write("a.ndjson", b"{\"ts\":\"2015-05-17\",\"n\":1}\n\n{\"ts\":\"2015-05-18\",\"n\":}\n");
    expect!["error: a.ndjson, line 3: expected value at character 24; try --on-error skip --reject-file rejects.tsv to load the other rows, or --schema to set the types"]
        .assert_eq(&fixture.load_error(&["--timestamp", "ts", &path]).await);

    let ts: ArrayRef = Arc::new(StringArray::from(vec!["2015-05-17", "soon"]));
    let batch = RecordBatch::try_from_iter([("ts", ts)]).expect("batch");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("writer");
    writer.write(&batch).expect("write");
    let path = fixture.write("a.parquet", &writer.into_inner().expect("file"));
    expect!["error: a.parquet, row 2: column ts: 'soon': not a timestamp in a known form; try --on-error skip --reject-file rejects.tsv to load the other rows, or --schema to set the types"]
        .assert_eq(&fixture.load_error(&["--timestamp", "ts", &path]).await);
    assert_eq!(fixture.stored_files(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_late_in_the_input_removes_what_was_uploaded() {
    let fixture = Fixture::new();
    let mut text = String::from("ts,n\n");
    for row in 0..200_000 {
        text += &format!("{},{row}\n", 1_431_820_800 + row);
    }
    text += "oops,1\n";
    let path = fixture.write("a.csv", text.as_bytes());
    let arguments =
        ["--timestamp", "ts", "--timestamp-format", "epoch_s", "--partition-rows", "5000", &path];
    let line = fixture.load_error(&arguments).await;
    assert!(line.contains("a.csv, line 200002: column ts: 'oops'"), "{line}");
    assert!(fixture.partitions().await.is_empty());
    assert_eq!(fixture.stored_files(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_bad_rows_is_an_error() {
    let fixture = Fixture::new();
    let path = fixture.write("a.csv", b"ts\n1431857103\n1431857104\n");
    let arguments = ["--timestamp", "ts", "--schema", "ts timestamp", "--on-error", "skip", &path];
    let line = fixture.load_error(&arguments).await;
    assert!(line.contains("--timestamp-format epoch_s"), "{line}");
    let path = fixture.write("b.csv", b"ts\nx\ny\n");
    let line = fixture.load_error(&["--timestamp", "ts", "--on-error", "skip", &path]).await;
    assert!(
        line.starts_with("error: all 2 rows were rejected; the first: b.csv, line 2: "),
        "{line}"
    );
    assert!(fixture.open().await.catalog.tables().await.expect("tables").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn loading_again_adds_partitions_and_columns() {
    let fixture = Fixture::new();
    let first = fixture.write("1.csv", b"ts,a\n2015-05-17T00:00:00Z,1\n");
    let second = fixture.write("2.ndjson", b"{\"b\":true,\"ts\":\"2015-05-18T00:00:00Z\"}\n");
    let first = fixture.load(&["--timestamp", "ts", &first]).await.expect("first");
    let second = fixture.load(&[&second]).await.expect("second");
    assert!(first.is_new_table && !second.is_new_table);
    assert_eq!(second.added_columns, ["b"]);
    assert!(second.sequence > first.sequence);
    expect![[r#"
        +----------------------+---+------+
        | ts                   | a | b    |
        +----------------------+---+------+
        | 2015-05-17T00:00:00Z | 1 |      |
        | 2015-05-18T00:00:00Z |   | true |
        +----------------------+---+------+"#]]
    .assert_eq(&fixture.text().await);
    let table = fixture.open().await.catalog.table("db", "t").await.expect("table");
    let ids: Vec<(u32, &str)> =
        table.columns.iter().map(|column| (column.id.0, column.name.as_str())).collect();
    assert_eq!(ids, [(1, "ts"), (2, "a"), (3, "b")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn mixed_schemas_in_one_load_are_merged_by_name() {
    let fixture = Fixture::new();
    fixture.write("1.csv", b"ts,x\n2015-05-17T00:00:00Z,1\n");
    fixture.write("2.csv", b"y,x,ts\nword,2.5,2015-05-18T00:00:00Z\n");
    fixture.write("3.ndjson.zst", b"{\"ts\":\"2015-05-19T00:00:00Z\",\"x\":3}\n");
    let csv = fixture.path("*.csv").display().to_string();
    let json = fixture.path("3*").display().to_string();
    let summary = fixture.load(&["--timestamp", "ts", &csv, &json]).await.expect("load");
    assert_eq!((summary.rows, summary.partitions), (3, 1));
    expect![[r#"
        +----------------------+-----+------+
        | ts                   | x   | y    |
        +----------------------+-----+------+
        | 2015-05-17T00:00:00Z | 1.0 |      |
        | 2015-05-18T00:00:00Z | 2.5 | word |
        | 2015-05-19T00:00:00Z | 3.0 |      |
        +----------------------+-----+------+"#]]
    .assert_eq(&fixture.text().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_the_table_is_said_before_any_work() {
    let fixture = Fixture::new();
    let create =
        ["table", "create", "db.t", "--columns", "ts timestamp, n int8", "--primary", "ts"];
    fixture.run(&create).await.expect("create");
    let path = fixture.write("a.parquet", &parquet());
    let summary = fixture.load(&[&path]).await.expect("other columns are added");
    assert_eq!(summary.added_columns, ["host", "bytes"]);

    let n: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let ts: ArrayRef = Arc::new(StringArray::from(vec!["2015-05-17"]));
    let batch = RecordBatch::try_from_iter([("ts", ts), ("n", n)]).expect("batch");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("writer");
    writer.write(&batch).expect("write");
    let path = fixture.write("b.parquet", &writer.into_inner().expect("file"));
    expect!["error: column n is Utf8 in b.parquet, which does not fit Int8; try another table, or cast the column in the file"]
        .assert_eq(&fixture.load_error(&[&path]).await);

    let path = fixture.write("c.csv", b"ts,n\n2015-05-17,300\n");
    let line = fixture.load_error(&[&path]).await;
    assert!(line.starts_with("error: c.csv, line 2: column n: '300': does not fit Int8"), "{line}");
    let path = fixture.write("d.csv", b"n\n3\n");
    expect![
        "error: read d.csv: caused by there is no column ts, the primary timestamp of the table"
    ]
    .assert_eq(&fixture.load_error(&[&path]).await);
    let path = fixture.write("e.csv", CSV.as_bytes());
    expect![
        "error: table db.t has primary ts, not host; try without --timestamp, or another table"
    ]
    .assert_eq(&fixture.load_error(&["--timestamp", "host", &path]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_that_are_not_there_or_not_what_they_say_are_errors() {
    let fixture = Fixture::new();
    let missing = fixture.path("no.csv").display().to_string();
    expect!["error: read no.csv: caused by entity not found"]
        .assert_eq(&fixture.load_error(&[&missing]).await);
    let path = fixture.write("a.parquet", b"this is not Parquet");
    let line = fixture.load_error(&[&path]).await;
    assert!(line.starts_with("error: read a.parquet: caused by "), "{line}");
    std::fs::write(fixture.path("a.csv.gz"), b"this is not gzip").expect("write");
    let path = fixture.path("a.csv.gz").display().to_string();
    expect!["error: read a.csv.gz: caused by invalid gzip header"]
        .assert_eq(&fixture.load_error(&[&path]).await);
    let path = fixture.write("empty.csv", b"");
    expect![
        "error: read empty.csv: caused by the file is empty; CSV begins with a line of column names"
    ]
    .assert_eq(&fixture.load_error(&[&path]).await);
    let path = fixture.write("a.ndjson", b"{\"a\":1}\n");
    expect![
        "error: table db.t does not exist; try the command without --existing-only to create it"
    ]
    .assert_eq(&fixture.load_error(&["--existing-only", &path]).await);
    expect!["error: storage nowhere is not in the cluster file, which has local; try one of those"]
        .assert_eq(&fixture.load_error(&["--storage", "nowhere", &path]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_gzip_file_registers_nothing() {
    let fixture = Fixture::new();
    let text = format!("ts,n\n{}", "2015-05-17T00:00:00Z,1\n".repeat(50_000));
    let path = fixture.write("a.csv.gz", text.as_bytes());
    let bytes = std::fs::read(&path).expect("read");
    std::fs::write(&path, &bytes[..bytes.len() - 50]).expect("write");
    let line = fixture.load_error(&["--timestamp", "ts", "--partition-rows", "5000", &path]).await;
    assert!(line.starts_with("error: read a.csv.gz: caused by "), "{line}");
    assert!(fixture.partitions().await.is_empty());
    assert_eq!(fixture.stored_files(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_without_a_primary_holds_small_facts() {
    let fixture = Fixture::new();
    let path = fixture.write("airports.csv", b"faa,name\nJFK,Kennedy\nLGA,La Guardia\n");
    let summary = fixture.load(&[&path]).await.expect("load");
    assert_eq!(summary.rows, 2);
    let table = fixture.open().await.catalog.table("db", "t").await.expect("table");
    assert_eq!(table.primary, None);
    assert_eq!(fixture.rows().await.num_rows(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_batches_are_loaded_in_process() {
    let fixture = Fixture::new();
    let OpenCluster { catalog, storage, .. } = fixture.open().await;
    let batch = |first: i64| {
        let times = arrow::array::TimestampMicrosecondArray::from_iter_values(
            (first..first + 1_000).map(|second| second * 1_000_000),
        );
        let ts: ArrayRef = Arc::new(times.with_timezone("UTC"));
        RecordBatch::try_from_iter([("ts", ts)]).expect("batch")
    };
    let batches: Vec<RecordBatch> = (0..10).rev().map(|part| batch(part * 1_000)).collect();
    let schema = batches[0].schema();
    let request = LoadRequest {
        catalog,
        storage,
        database: "db".into(),
        table: "t".into(),
        source: LoadSource::Batches { schema, batches: futures::stream::iter(batches).boxed() },
        options: LoadOptions { timestamp: Some("ts".into()), ..LoadOptions::default() },
    };
    let summary = Box::pin(peerage::load::run(request, &SilentProgress)).await.expect("load");
    assert_eq!((summary.rows, summary.partitions, summary.bytes_in), (10_000, 1, 0));
    let rows = fixture.rows().await;
    assert_eq!(
        rows.schema().field(0).data_type(),
        &DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, Some("UTC".into()))
    );
    assert!(rows["ts"].as_primitive::<TimestampMicrosecondType>().values().is_sorted());
}

/// What `s3://` inputs become: objects of a store, compressed or to be sought in.
#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_store_are_loaded() {
    let fixture = Fixture::new();
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let gzip = std::fs::read(fixture.write("a.csv.gz", CSV.as_bytes())).expect("read");
    let mut inputs = Vec::new();
    for (key, content, format, compression) in [
        ("a.csv.gz", gzip, InputFormat::Csv, Compression::Gzip),
        ("b.parquet", parquet(), InputFormat::Parquet, Compression::None),
        ("c.ndjson", NDJSON.as_bytes().to_vec(), InputFormat::Ndjson, Compression::None),
    ] {
        let path = object_store::path::Path::from(key);
        let bytes = u64::try_from(content.len()).expect("small");
        store.put(&path, content.into()).await.expect("put");
        let place = InputPlace::Object { store: Arc::clone(&store), key: path };
        let (name, bytes) = (key.into(), Some(bytes));
        inputs.push(LoadInput { name, place, format, compression, delimiter: b',', bytes });
    }
    let OpenCluster { catalog, storage, .. } = fixture.open().await;
    let request = LoadRequest {
        catalog,
        storage,
        database: "db".into(),
        table: "t".into(),
        source: LoadSource::Inputs(inputs),
        options: LoadOptions { timestamp: Some("ts".into()), ..LoadOptions::default() },
    };
    let summary = Box::pin(peerage::load::run(request, &SilentProgress)).await.expect("load");
    assert_eq!((summary.rows, summary.partitions), (9, 1));
    let rows = fixture.rows().await;
    assert_eq!(rows["bytes"].null_count(), 3);
}

/// The future of a load is dropped in the middle, as Ctrl-C or a deadline would: the catalog shows
/// nothing of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_dropped_is_not_visible() {
    let fixture = Fixture::new();
    let OpenCluster { catalog, storage, .. } = fixture.open().await;
    let ts: ArrayRef = Arc::new(arrow::array::Date32Array::from_iter_values(0..5_000));
    let batch = RecordBatch::try_from_iter([("ts", ts)]).expect("batch");
    let schema = batch.schema();
    // Ten full partitions, then nothing more ever comes.
    let batches = futures::stream::iter(vec![batch; 10]).chain(futures::stream::pending()).boxed();
    let partition_rows = std::num::NonZeroUsize::new(5_000).expect("not zero");
    let request = LoadRequest {
        catalog,
        storage,
        database: "db".into(),
        table: "t".into(),
        source: LoadSource::Batches { schema, batches },
        options: LoadOptions {
            timestamp: Some("ts".into()),
            partition_rows,
            ..LoadOptions::default()
        },
    };
    let mut load = Box::pin(peerage::load::run(request, &SilentProgress));
    loop {
        let waited = tokio::time::timeout(std::time::Duration::from_millis(50), &mut load).await;
        assert!(waited.is_err(), "the input does not end");
        if fixture.stored_files() > 0 {
            break;
        }
    }
    drop(load);
    assert!(fixture.open().await.catalog.tables().await.expect("tables").is_empty());
}
