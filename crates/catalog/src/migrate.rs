//! The schema of the catalog and the steps that lead to it.
//!
//! Invariant: a step, once released, is never changed; a new need is a new step at the end. All
//! missing steps run in one transaction, so a catalog has one whole version or the one before. A
//! catalog from a newer program is refused, not guessed at.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::error::{CatalogError, EngineContext};

/// One step from a version to the next.
type Step = &'static str;

/// Version 1: what stands in the crate's documentation. `level` is explained in `span.rs`.
const V1: Step = "
CREATE TABLE changes (
    sequence INTEGER PRIMARY KEY,
    table_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    partitions INTEGER NOT NULL,
    at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX changes_by_table ON changes (table_id, sequence);

CREATE TABLE tables (
    table_id INTEGER PRIMARY KEY AUTOINCREMENT,
    database_name TEXT NOT NULL,
    table_name TEXT NOT NULL,
    primary_column_id INTEGER,
    next_column_id INTEGER NOT NULL,
    created_seq INTEGER NOT NULL,
    dropped_seq INTEGER
) STRICT;
CREATE UNIQUE INDEX tables_by_name ON tables (database_name, table_name) WHERE dropped_seq IS NULL;

CREATE TABLE columns (
    table_id INTEGER NOT NULL REFERENCES tables (table_id),
    column_id INTEGER NOT NULL,
    data_type BLOB NOT NULL,
    type_text TEXT NOT NULL,
    is_nullable INTEGER NOT NULL CHECK (is_nullable IN (0, 1)),
    position INTEGER NOT NULL,
    sort_position INTEGER,
    created_seq INTEGER NOT NULL,
    PRIMARY KEY (table_id, column_id)
) STRICT;

CREATE TABLE column_names (
    table_id INTEGER NOT NULL,
    column_name TEXT NOT NULL,
    column_id INTEGER NOT NULL,
    is_current INTEGER NOT NULL CHECK (is_current IN (0, 1)),
    PRIMARY KEY (table_id, column_name),
    FOREIGN KEY (table_id, column_id) REFERENCES columns (table_id, column_id)
) STRICT;
CREATE UNIQUE INDEX column_names_current ON column_names (table_id, column_id) WHERE is_current = 1;

CREATE TABLE partitions (
    partition_id INTEGER PRIMARY KEY,
    table_id INTEGER NOT NULL REFERENCES tables (table_id),
    partition_name TEXT NOT NULL UNIQUE,
    storage TEXT NOT NULL,
    path TEXT NOT NULL,
    min_ms INTEGER NOT NULL,
    max_ms INTEGER NOT NULL,
    level INTEGER NOT NULL,
    row_count INTEGER NOT NULL,
    manifest_bytes INTEGER NOT NULL,
    manifest_checksum BLOB NOT NULL,
    index_bytes INTEGER NOT NULL,
    index_checksum BLOB NOT NULL,
    data_bytes INTEGER NOT NULL,
    data_checksum BLOB NOT NULL,
    registered_seq INTEGER NOT NULL,
    retired_seq INTEGER
) STRICT;
CREATE INDEX partitions_by_time ON partitions (table_id, level, min_ms, max_ms);

CREATE TABLE partition_levels (
    table_id INTEGER NOT NULL REFERENCES tables (table_id),
    level INTEGER NOT NULL,
    PRIMARY KEY (table_id, level)
) STRICT;

CREATE TABLE table_settings (
    table_id INTEGER NOT NULL REFERENCES tables (table_id),
    setting_key TEXT NOT NULL,
    setting_value TEXT NOT NULL,
    PRIMARY KEY (table_id, setting_key)
) STRICT;
";

/// All steps: the first makes version 1.
const STEPS: &[Step] = &[V1];

/// Brings the catalog behind `connection` to the newest version that this program knows.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), CatalogError> {
    apply(connection, STEPS)
}

/// Runs the steps that the catalog does not have yet.
fn apply(connection: &mut Connection, steps: &[Step]) -> Result<(), CatalogError> {
    let action = "bring the catalog to the newest schema";
    let supported = i64::try_from(steps.len())
        .map_err(|error| CatalogError::corrupt("number of schema versions", error))?;
    if version(connection)? == supported {
        return Ok(());
    }
    // The version is read again under the write lock: two programs may start at the same time.
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).during(action)?;
    let found = version(&transaction)?;
    let missing = usize::try_from(found).ok().and_then(|found| steps.get(found..));
    let Some(missing) = missing else {
        return Err(CatalogError::TooNew { found, supported });
    };
    for step in missing {
        transaction.execute_batch(step).during(action)?;
    }
    transaction
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT;
             DELETE FROM schema_version;",
        )
        .during(action)?;
    transaction
        .execute("INSERT INTO schema_version (version) VALUES ($1)", [supported])
        .during(action)?;
    transaction.commit().during(action)
}

/// Returns the version of the catalog, 0 for an empty one.
fn version(connection: &Connection) -> Result<i64, CatalogError> {
    let action = "read the schema version of the catalog";
    // Asked of the file itself: what a connection remembers of the schema may be older.
    let is_there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'";
    let found = connection.query_row(is_there, [], |_| Ok(())).optional().during(action)?;
    if found.is_none() {
        return Ok(0);
    }
    let found = connection
        .query_row("SELECT version FROM schema_version", [], |row| row.get(0))
        .optional()
        .during(action)?;
    Ok(found.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Step = "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);";
    const SECOND: Step = "ALTER TABLE a ADD COLUMN y INTEGER; UPDATE a SET y = x + 1;";
    const BROKEN: Step = "CREATE TABLE b (x INTEGER) STRICT; INSERT INTO nowhere VALUES (1);";

    fn memory() -> Connection {
        Connection::open_in_memory().expect("memory")
    }

    #[test]
    fn an_empty_catalog_gets_all_steps_once() {
        let mut connection = memory();
        migrate(&mut connection).expect("first");
        migrate(&mut connection).expect("again");
        assert_eq!(version(&connection).expect("version"), 1);
    }

    /// A range of time is one range of the index per level, not a walk through the table.
    #[test]
    fn pruning_by_time_uses_the_index() {
        let mut connection = memory();
        migrate(&mut connection).expect("schema");
        let explain = format!("EXPLAIN QUERY PLAN {}", crate::sql::PARTITIONS_IN_RANGE);
        let plan: String = connection
            .query_row(&explain, (1, 2, 3, 4, 5, 6), |row| row.get("detail"))
            .expect("plan");
        let expected = "partitions_by_time (table_id=? AND level=? AND min_ms>? AND min_ms<?)";
        assert!(plan.contains(expected), "{plan}");
    }

    #[test]
    fn later_steps_keep_the_rows() {
        let mut connection = memory();
        apply(&mut connection, &[FIRST]).expect("first");
        apply(&mut connection, &[FIRST, SECOND]).expect("second");
        let y: i64 = connection.query_row("SELECT y FROM a", [], |row| row.get(0)).expect("row");
        assert_eq!((y, version(&connection).expect("version")), (2, 2));
    }

    #[test]
    fn a_broken_step_leaves_the_version_before() {
        let mut connection = memory();
        apply(&mut connection, &[FIRST]).expect("first");
        apply(&mut connection, &[FIRST, BROKEN]).expect_err("broken");
        assert_eq!(version(&connection).expect("version"), 1);
        assert!(!connection.table_exists(None, "b").expect("look"));
    }

    #[test]
    fn a_newer_catalog_is_refused() {
        let mut connection = memory();
        apply(&mut connection, &[FIRST, SECOND]).expect("two steps");
        let error = apply(&mut connection, &[FIRST]).expect_err("newer");
        assert!(matches!(error, CatalogError::TooNew { found: 2, supported: 1 }));
    }
}
