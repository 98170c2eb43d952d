//! The README's first command, small, on the real binary: its answers are plain DataFusion's.

use std::process::{Command, Stdio};
use std::sync::Arc;

use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use peerage::demo::{QUESTIONS, generated_rows};
use peerage_clickhouse::{FormatSettings, FormatWriter, OutputFormat, ResultSummary};
use peerage_testdata::cdn::{Generator, schema};

const ROWS: u64 = 250_000;

/// Returns the answer that the demonstration has to show.
async fn expected(context: &SessionContext, sql: &str) -> String {
    let frame = context.sql(sql).await.expect("plans");
    let mut out = Vec::new();
    let settings = FormatSettings::default();
    let format = OutputFormat::PrettyCompact;
    let mut writer = FormatWriter::for_schema(format, frame.schema().as_arrow(), settings);
    writer.start(&mut out).expect("begins");
    for batch in frame.collect().await.expect("runs") {
        writer.write(&batch, &mut out).expect("writes");
    }
    writer.finish(&ResultSummary::default(), &mut out).expect("ends");
    String::from_utf8(out).expect("text")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demonstration_answers_rightly_and_starts_again_in_no_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = || {
        let output = Command::new(env!("CARGO_BIN_EXE_peerage"))
            .args(["demo", "--once", "--http-port", "0", "--rows", &ROWS.to_string(), "--dir"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("runs");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let first = tokio::task::block_in_place(run);
    assert!(first.contains("Loaded 250,000 rows into 3 partitions"), "{first}");

    let config = SessionConfig::new()
        .set_bool("datafusion.sql_parser.enable_ident_normalization", false)
        .set_str("datafusion.execution.time_zone", "UTC");
    let context = SessionContext::new_with_config(config);
    context.sql("CREATE SCHEMA demo").await.expect("made").collect().await.expect("made");
    let batches = Generator::new(generated_rows(ROWS)).collect();
    let table = MemTable::try_new(schema(), vec![batches]).expect("a table");
    context.register_table("demo.logs", Arc::new(table)).expect("registered");
    for (title, sql) in QUESTIONS {
        let answer = expected(&context, sql).await;
        assert!(first.contains(&answer), "{title}\nexpected:\n{answer}\ngot:\n{first}");
    }
    assert!(first.contains("pruned by time"), "{first}");

    let second = tokio::task::block_in_place(run);
    assert!(second.contains("250,000 rows are there from an earlier run"), "{second}");
    assert!(second.contains("0 misses"), "the caches survive a restart: {second}");
}
