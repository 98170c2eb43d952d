//! Every SQL script against plain DataFusion, in both dialects that an engine may parse with.
//!
//! `PEERAGE_SLT_FILL=1 cargo test -p peerage-testdata --test it` rewrites the answers instead;
//! look at the difference before keeping it.

use std::path::Path;

use datafusion::common::config::Dialect;
use peerage_testdata::oracle::{OracleError, OracleRunner, session, session_in};
use peerage_testdata::slt::{self, ColumnCheck, ScriptError};

/// Statements that the scripts promise to hold.
const STATEMENTS_MIN: usize = 170;

/// Runs a script in both dialects, or fills it in.
async fn check(script: &Path) -> Result<(), ScriptError> {
    let oracle = OracleRunner::new(session().await.expect("the files are in the repository"));
    if std::env::var_os("PEERAGE_SLT_FILL").is_some() {
        return slt::fill(script, || async { Ok::<_, OracleError>(oracle.clone()) }).await;
    }
    slt::run(script, ColumnCheck::Kinds, || async { Ok::<_, OracleError>(oracle.clone()) }).await?;
    let clickhouse =
        session_in(Dialect::ClickHouse).await.expect("the files are in the repository");
    let oracle = OracleRunner::new(clickhouse);
    slt::run(script, ColumnCheck::Kinds, || async { Ok::<_, OracleError>(oracle.clone()) }).await?;
    Ok(())
}

/// Makes one test for each script, and the list of them.
macro_rules! scripts {
    ($($name:ident),* $(,)?) => {
        const TESTED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[tokio::test]
            async fn $name() {
                let script = peerage_testdata::path(concat!("sql/", stringify!($name), ".slt"));
                if let Err(error) = check(&script).await {
                    panic!("{error}");
                }
            }
        )*
    };
}

scripts! {
    cdn_logs,
    ctes,
    empty,
    errors,
    flights,
    flights_sample,
    joins,
    nulls,
    topk,
    types,
    web_logs,
    windows,
}

#[test]
fn every_script_is_tested_and_they_are_many() {
    let scripts = slt::scripts().unwrap();
    let names: Vec<_> = scripts.iter().map(|path| path.file_stem().unwrap()).collect();
    assert_eq!(names, TESTED);
    let count: usize = scripts.iter().map(|path| slt::statements(path).unwrap().len()).sum();
    assert!(count >= STATEMENTS_MIN, "{count} statements");
}

#[test]
fn only_the_script_of_errors_expects_errors() {
    for script in slt::scripts().unwrap() {
        let statements = slt::statements(&script).unwrap();
        let is_errors = script.ends_with("errors.slt");
        for (sql, fails) in statements {
            assert_eq!(fails, is_errors, "{}: {sql}", script.display());
        }
    }
}

#[tokio::test]
async fn flights_3m() {
    if peerage_testdata::tables::extra().is_empty() {
        println!("skipped: the file flights-3m.parquet is not beside the repository");
        return;
    }
    if let Err(error) = check(&peerage_testdata::path("sql/extra/flights_3m.slt")).await {
        panic!("{error}");
    }
}
