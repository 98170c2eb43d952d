//! The conformance files of the Parquet project: each loads or is refused with a reason, and none
//! panics.

use std::path::{Path, PathBuf};

use futures::StreamExt;
use parquet::file::metadata::ParquetMetaDataReader;

use crate::fixture::Fixture;

/// Returns the folder of the files, if they are in the tree.
fn files(folder: &str) -> Vec<PathBuf> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for path in entries.map(|entry| entry.expect("entry").path()) {
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|end| end == "parquet") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/parquet-testing");
    let mut found = Vec::new();
    collect(&root.join(folder), &mut found);
    found.sort();
    found
}

/// Returns the rows that the row groups of a file have.
fn rows_of(path: &Path) -> u64 {
    let file = std::fs::File::open(path).expect("open");
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file).expect("footer");
    let rows: i64 = metadata.row_groups().iter().map(|group| group.num_rows()).sum();
    u64::try_from(rows).expect("not negative")
}

/// Loads one file into a table of its own. Returns the error line if it is refused.
async fn load_one(path: PathBuf) -> (String, Option<String>) {
    let fixture = Fixture::new();
    let name = path.file_name().expect("name").to_string_lossy().into_owned();
    match fixture.load(&[&path.display().to_string()]).await {
        Ok(summary) => {
            let rows = fixture.rows().await;
            assert_eq!(u64::try_from(rows.num_rows()).expect("small"), summary.rows, "{name}");
            assert_eq!(summary.rows, rows_of(&path), "{name}");
            (name, None)
        }
        Err(error) => {
            let line = fixture.line(&error);
            assert!(line.len() > "error: ".len() + 10, "{name}: {line}");
            (name, Some(line))
        }
    }
}

/// Loads each file, some at the same time. Returns the names of those that were loaded, and the
/// error lines of the others.
async fn load_each(folder: &str) -> (Vec<String>, Vec<String>) {
    let ended = futures::stream::iter(files(folder)).map(load_one).buffered(8);
    let ended: Vec<(String, Option<String>)> = ended.collect().await;
    let loaded = ended.iter().filter(|(_, error)| error.is_none()).map(|(name, _)| name.clone());
    let refused =
        ended.iter().filter_map(|(name, error)| Some(format!("{name}: {}", error.as_ref()?)));
    (loaded.collect(), refused.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn conformance_files_load_or_are_refused_with_a_reason() {
    if files("data").is_empty() {
        return;
    }
    let (loaded, refused) = load_each("data").await;
    assert!(loaded.len() >= 50, "{} loaded; refused:\n{}", loaded.len(), refused.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_files_never_panic() {
    if files("bad_data").is_empty() {
        return;
    }
    let (loaded, refused) = load_each("bad_data").await;
    assert!(refused.len() > loaded.len(), "loaded: {loaded:?}");
}
