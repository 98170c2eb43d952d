//! The right answers, by plain DataFusion over the same rows in one plain Parquet file.
//!
//! Invariant: nothing of ours takes part but the generator. The file is removed when all answers are
//! there; the answers are kept beside the data, by the text that plain DataFusion was asked.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use datafusion::catalog::MemorySchemaProvider;
use datafusion::common::TableReference;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use parquet::arrow::ArrowWriter;
use peerage_testdata::cdn::{self, Generator};

use crate::answer::Answer;
use crate::dataset::{DatasetFolder, DatasetKey};
use crate::suite::{DATABASE, Question, TABLE};

/// The answers, by the text that plain DataFusion was asked.
pub(crate) type Expected = BTreeMap<String, Answer>;

/// Returns the right answers to all questions; those that are not known yet are found and kept.
pub(crate) async fn expected_answers(
    folder: &DatasetFolder,
    key: &DatasetKey,
    questions: &[Question],
) -> anyhow::Result<Expected> {
    let path = folder.path("expected.json");
    let known = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let mut known: Expected = known.unwrap_or_default();
    let missing: Vec<_> =
        questions.iter().filter(|question| !known.contains_key(&question.right_sql)).collect();
    if missing.is_empty() {
        return Ok(known);
    }
    eprintln!("asking plain DataFusion for {} right answers ...", missing.len());
    let file = folder.path("plain.parquet");
    write_plain(file.clone(), key.clone()).await?;
    let session = session(&file).await?;
    for question in missing {
        let asked = || format!("ask plain DataFusion {}", question.name);
        let frame = session.sql(&question.right_sql).await.with_context(asked)?;
        let answer = Answer::of(&frame.collect().await.with_context(asked)?)?;
        known.insert(question.right_sql.clone(), answer);
    }
    std::fs::remove_file(&file).with_context(|| format!("remove {}", file.display()))?;
    std::fs::write(&path, serde_json::to_vec(&known)?)
        .with_context(|| format!("write {}", path.display()))?;
    Ok(known)
}

/// Writes all rows into one file.
async fn write_plain(path: PathBuf, key: DatasetKey) -> anyhow::Result<()> {
    let written = tokio::task::spawn_blocking(move || {
        let file = File::create(&path).with_context(|| format!("write {}", path.display()))?;
        let mut writer = ArrowWriter::try_new(file, cdn::schema(), None)?;
        for batch in Generator::new(key.options()) {
            writer.write(&batch)?;
        }
        writer.close()?;
        anyhow::Ok(())
    });
    written.await?
}

async fn session(file: &Path) -> anyhow::Result<SessionContext> {
    let mut config = SessionConfig::new();
    config.options_mut().execution.time_zone = Some("UTC".to_owned());
    let session = SessionContext::new_with_config(config);
    let catalog = session.catalog("datafusion").context("a session has its default catalog")?;
    catalog.register_schema(DATABASE, Arc::new(MemorySchemaProvider::new()))?;
    let table = TableReference::partial(DATABASE, TABLE);
    let options = ParquetReadOptions::default();
    session.register_parquet(table, file.to_string_lossy().as_ref(), options).await?;
    Ok(session)
}
