//! The whole way on a real S3 server: load into a bucket, query over three peers.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use peerage_testdata::tables;
use serde_json::Value;

use crate::cluster::{LoadedTables, TestCluster};

/// Exit code of `scripts/s3` when there is no server to be had.
const EXIT_UNAVAILABLE: i32 = 69;

/// A running server, stopped when dropped.
struct S3Server {
    folder: tempfile::TempDir,
    facts: Value,
}

fn script() -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    Command::new(root.join("scripts/s3"))
}

impl S3Server {
    /// Starts a server with one bucket; `None` where none can be had and none is required.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let started = script()
            .args(["--json", "start"])
            .arg(folder.path())
            .args(["auto", "peerage-test"])
            .output()
            .expect("the script runs");
        let errors = String::from_utf8_lossy(&started.stderr);
        let is_required =
            std::env::var_os("PEERAGE_TEST_S3").is_some_and(|value| value == "required");
        if started.status.code() == Some(EXIT_UNAVAILABLE) && !is_required {
            writeln!(std::io::stderr(), "skipped: no S3 server can be had here: {errors}").ok();
            return None;
        }
        assert!(started.status.success(), "{errors}");
        let facts = serde_json::from_slice(&started.stdout).expect("one line of JSON");
        Some(Self { folder, facts })
    }

    fn fact(&self, name: &str) -> &str {
        self.facts[name].as_str().expect("the script tells it")
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let stopped = script().arg("stop").arg(self.folder.path()).status();
        assert!(stopped.expect("the script runs").success());
    }
}

const JOIN: &str = "SELECT f.origin, count(*) AS flights, round(avg(w.temp), 3) AS temp FROM nyc.flights f \
                    JOIN nyc.weather w ON f.origin = w.origin AND f.time_hour = w.time_hour GROUP BY \
                    f.origin ORDER BY f.origin";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_answers_as_a_folder_does() {
    let Some(server) = tokio::task::block_in_place(S3Server::start) else { return };
    // The cluster file names the variables that hold the keys.
    let access = format!("PEERAGE_TEST_ACCESS_{}", std::process::id());
    let secret = format!("PEERAGE_TEST_SECRET_{}", std::process::id());
    set_variable(&access, server.fact("access_key_id"));
    set_variable(&secret, server.fact("secret_access_key"));
    let storage = format!(
        "url: \"s3://peerage-test/tables\", endpoint: \"{}\", region: us-east-1, allow_http: true, \
         credentials: {{ access_key_id_env: {access}, secret_access_key_env: {secret} }}",
        server.fact("endpoint")
    );
    let mut files = tables::checked_in();
    files.retain(|table| table.schema == "nyc");
    let bucket = Arc::new(LoadedTables::load_into(storage, &files).await);
    let folder = Arc::new(LoadedTables::load(&files).await);
    let from_bucket = TestCluster::start(&bucket, "bucket", 3).await;
    let from_folder = TestCluster::start(&folder, "folder", 3).await;
    let cold = from_bucket.query(JOIN, "TSV").await;
    assert_eq!(cold.text(), from_folder.query(JOIN, "TSV").await.text());
    assert_eq!(cold.text().lines().count(), 3);
    assert!(cold.count("cache_misses") > 0);
    let warm = from_bucket.query(JOIN, "TSV").await;
    assert_eq!((warm.body == cold.body, warm.count("cache_misses")), (true, 0));

    // Without the object store a scan fails with its name, and nothing hangs.
    drop(server);
    let broken = from_bucket.query("SELECT sum(distance) FROM nyc.flights", "TSV").await;
    assert_eq!(broken.status, 500, "{}", broken.text());
    assert!(broken.text().contains("Code: 499."), "{}", broken.text());
    assert!(broken.text().contains("storage main"), "{}", broken.text());
}

/// Sets a variable of this process.
#[expect(unsafe_code, reason = "the name is this test's own, and nothing else reads it meanwhile")]
fn set_variable(name: &str, value: &str) {
    // SAFETY: see above; the standard library's own readers take the lock.
    unsafe { std::env::set_var(name, value) };
}
