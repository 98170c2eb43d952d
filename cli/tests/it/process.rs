//! The program as a process: standard input and output, exit codes, and being killed.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::fixture::Fixture;

/// Longest wait for the first partition of a running load.
const WAIT_MAX: Duration = Duration::from_secs(60);

fn peerage(fixture: &Fixture, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_peerage"));
    command.args(arguments).arg("--cluster").arg(fixture.path("cluster.yaml"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn standard_input_is_loaded_and_only_the_summary_is_printed() {
    let fixture = Fixture::new();
    let arguments = ["load", "--table", "db.t", "--timestamp", "ts", "--format", "csv", "-"];
    let mut child = peerage(&fixture, &arguments).stdin(Stdio::piped()).spawn().expect("spawn");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(b"ts,n\n2015-05-17T10:05:03Z,1\n").expect("write");
    drop(input);
    let (code, output, errors) = text(&child.wait_with_output().expect("wait"));
    assert_eq!((code, errors.as_str()), (Some(0), ""), "no progress where there is no terminal");
    assert!(
        output.starts_with("table       db.t (created)\nprimary     ts\nrows        1\n"),
        "{output}"
    );
}

#[test]
fn exit_codes_tell_errors_from_wrong_command_lines() {
    let fixture = Fixture::new();
    let run = |arguments: &[&str]| text(&peerage(&fixture, arguments).output().expect("run"));
    let (code, output, errors) = run(&["table", "show", "db.t"]);
    assert_eq!((code, output.as_str()), (Some(1), ""));
    assert_eq!(
        errors,
        "error: table db.t does not exist; try peerage table list to see what exists\n"
    );
    let (code, ..) = run(&["load", "--table", "nothing", "x.csv"]);
    assert_eq!(code, Some(2));
    let (code, ..) = run(&["no-such-command"]);
    assert_eq!(code, Some(2));
}

/// A load is killed with SIGKILL after some of its partitions are stored: the catalog shows nothing,
/// and the next load works.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_load_is_not_visible() {
    let fixture = Fixture::new();
    let arguments = [
        "load",
        "--table",
        "db.t",
        "--timestamp",
        "ts",
        "--timestamp-format",
        "epoch_s",
        "--format",
        "csv",
        "--partition-rows",
        "4096",
        "-",
    ];
    let mut child = peerage(&fixture, &arguments).stdin(Stdio::piped()).spawn().expect("spawn");
    let mut input = child.stdin.take().expect("piped");
    let begun = Instant::now();
    input.write_all(b"ts,n\n").expect("write");
    let mut row = 0_u64;
    while fixture.stored_files() < 6 {
        assert!(begun.elapsed() < WAIT_MAX, "no partition was stored");
        let lines: String =
            (row..row + 100_000).map(|row| format!("{},{row}\n", 1_431_820_800 + row)).collect();
        input.write_all(lines.as_bytes()).expect("the load reads on");
        row += 100_000;
    }
    child.kill().expect("kill");
    child.wait().expect("wait");
    drop(input);
    assert!(fixture.open().await.catalog.tables().await.expect("tables").is_empty());

    let path = fixture.write("a.csv", b"ts,n\n1431820800,1\n");
    let arguments = ["--timestamp", "ts", "--timestamp-format", "epoch_s", &path];
    let summary = fixture.load(&arguments).await.expect("load");
    assert_eq!(summary.rows, 1);
}
