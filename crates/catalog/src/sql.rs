//! Every SQL statement of the catalog, one constant each.
//!
//! Invariant: a statement uses `$1`, `$2`, … in the order of their first appearance (SQLite numbers
//! named parameters by appearance, PostgreSQL by the number), and nothing that only one of the two
//! knows. The schema itself is in `migrate.rs`.
//!
//! A row is visible at sequence `s` when `begin <= s` and not `end <= s`.

/// The newest sequence, 0 in an empty catalog.
pub(crate) const LAST_SEQUENCE: &str = "SELECT COALESCE(MAX(sequence), 0) FROM changes";

/// Adds a change: sequence, table, kind, number of partitions, time.
pub(crate) const INSERT_CHANGE: &str =
    "INSERT INTO changes (sequence, table_id, kind, partitions, at_ms) VALUES ($1, $2, $3, $4, $5)";

/// The newest sequence that touched a table, up to a sequence: table, sequence.
pub(crate) const TABLE_SEQUENCE: &str =
    "SELECT COALESCE(MAX(sequence), 0) FROM changes WHERE table_id = $1 AND sequence <= $2";

/// One visible table by name: database, name, sequence.
pub(crate) const TABLE_BY_NAME: &str = "SELECT table_id, database_name, table_name, primary_column_id FROM tables \
     WHERE database_name = $1 AND table_name = $2 AND created_seq <= $3 \
     AND (dropped_seq IS NULL OR dropped_seq > $3)";

/// One visible table by id: table, sequence.
pub(crate) const TABLE_BY_ID: &str = "SELECT table_id, database_name, table_name, primary_column_id FROM tables \
     WHERE table_id = $1 AND created_seq <= $2 AND (dropped_seq IS NULL OR dropped_seq > $2)";

/// All visible tables by name: sequence.
pub(crate) const TABLES: &str = "SELECT table_id, database_name, table_name, primary_column_id FROM tables \
     WHERE created_seq <= $1 AND (dropped_seq IS NULL OR dropped_seq > $1) \
     ORDER BY database_name, table_name";

/// The databases that have a visible table: sequence.
pub(crate) const DATABASES: &str = "SELECT DISTINCT database_name FROM tables \
     WHERE created_seq <= $1 AND (dropped_seq IS NULL OR dropped_seq > $1) ORDER BY database_name";

/// Adds a table: database, name, primary column, sequence. Answers its id.
pub(crate) const INSERT_TABLE: &str = "INSERT INTO tables (database_name, table_name, primary_column_id, next_column_id, created_seq) \
     VALUES ($1, $2, $3, $4, $5) RETURNING table_id";

/// Marks a table as dropped: sequence, table.
pub(crate) const DROP_TABLE: &str = "UPDATE tables SET dropped_seq = $1 WHERE table_id = $2";

/// The next free column id of a table: table.
pub(crate) const NEXT_COLUMN_ID: &str = "SELECT next_column_id FROM tables WHERE table_id = $1";

/// Moves the next free column id: next id, table.
pub(crate) const SET_NEXT_COLUMN_ID: &str =
    "UPDATE tables SET next_column_id = $1 WHERE table_id = $2";

/// The visible columns of a table with their current names, in order: table, sequence.
pub(crate) const COLUMNS: &str = "SELECT c.column_id, n.column_name, c.data_type, c.is_nullable, c.sort_position FROM columns c \
     JOIN column_names n ON n.table_id = c.table_id AND n.column_id = c.column_id AND n.is_current = 1 \
     WHERE c.table_id = $1 AND c.created_seq <= $2 ORDER BY c.position";

/// Adds a column: table, id, type, type as text, nullable, position, sort position, sequence.
pub(crate) const INSERT_COLUMN: &str = "INSERT INTO columns (table_id, column_id, data_type, type_text, is_nullable, position, \
     sort_position, created_seq) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

/// Adds a current name of a column: table, name, column.
pub(crate) const INSERT_COLUMN_NAME: &str = "INSERT INTO column_names (table_id, column_name, column_id, is_current) VALUES ($1, $2, $3, 1)";

/// The settings of a table: table.
pub(crate) const SETTINGS: &str = "SELECT setting_key, setting_value FROM table_settings WHERE table_id = $1 ORDER BY setting_key";

/// Adds a setting: table, key, value.
pub(crate) const INSERT_SETTING: &str =
    "INSERT INTO table_settings (table_id, setting_key, setting_value) VALUES ($1, $2, $3)";

/// Whether a partition name was ever used: name.
pub(crate) const PARTITION_EXISTS: &str = "SELECT 1 FROM partitions WHERE partition_name = $1";

/// Adds a partition.
pub(crate) const INSERT_PARTITION: &str = "INSERT INTO partitions (table_id, partition_name, storage, path, min_ms, max_ms, level, row_count, \
     manifest_bytes, manifest_checksum, index_bytes, index_checksum, data_bytes, data_checksum, registered_seq) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";

/// Notes that a table has partitions of a level: table, level.
pub(crate) const INSERT_LEVEL: &str =
    "INSERT INTO partition_levels (table_id, level) VALUES ($1, $2) ON CONFLICT DO NOTHING";

/// The levels of a table's partitions: table.
pub(crate) const LEVELS: &str =
    "SELECT level FROM partition_levels WHERE table_id = $1 ORDER BY level";

/// All visible partitions of a table: table, sequence.
pub(crate) const PARTITIONS: &str = "SELECT partition_name, storage, path, row_count, manifest_bytes, manifest_checksum, index_bytes, \
     index_checksum, data_bytes, data_checksum, registered_seq FROM partitions \
     WHERE table_id = $1 AND registered_seq <= $2 AND (retired_seq IS NULL OR retired_seq > $2) \
     ORDER BY min_ms, partition_name";

/// The visible partitions of one level that overlap a range: table, level, earliest begin, end of
/// the range, begin of the range, sequence.
pub(crate) const PARTITIONS_IN_RANGE: &str = "SELECT partition_name, storage, path, row_count, manifest_bytes, manifest_checksum, index_bytes, \
     index_checksum, data_bytes, data_checksum, registered_seq FROM partitions \
     WHERE table_id = $1 AND level = $2 AND min_ms >= $3 AND min_ms <= $4 AND max_ms >= $5 \
     AND registered_seq <= $6 AND (retired_seq IS NULL OR retired_seq > $6)";

/// Totals over the visible partitions of a table: table, sequence.
pub(crate) const TOTALS: &str = "SELECT COUNT(*), COALESCE(SUM(row_count), 0), COALESCE(SUM(manifest_bytes), 0), \
     COALESCE(SUM(index_bytes), 0), COALESCE(SUM(data_bytes), 0), MIN(min_ms), MAX(max_ms) FROM partitions \
     WHERE table_id = $1 AND registered_seq <= $2 AND (retired_seq IS NULL OR retired_seq > $2)";

/// Retires one partition that is not retired yet: sequence, table, name.
pub(crate) const RETIRE_PARTITION: &str = "UPDATE partitions SET retired_seq = $1 \
     WHERE table_id = $2 AND partition_name = $3 AND retired_seq IS NULL";

/// Retires all partitions of a table: sequence, table.
pub(crate) const RETIRE_ALL: &str =
    "UPDATE partitions SET retired_seq = $1 WHERE table_id = $2 AND retired_seq IS NULL";

#[cfg(test)]
mod tests {
    use super::*;

    /// All statements above.
    const ALL: &[&str] = &[
        LAST_SEQUENCE,
        INSERT_CHANGE,
        TABLE_SEQUENCE,
        TABLE_BY_NAME,
        TABLE_BY_ID,
        TABLES,
        DATABASES,
        INSERT_TABLE,
        DROP_TABLE,
        NEXT_COLUMN_ID,
        SET_NEXT_COLUMN_ID,
        COLUMNS,
        INSERT_COLUMN,
        INSERT_COLUMN_NAME,
        SETTINGS,
        INSERT_SETTING,
        PARTITION_EXISTS,
        INSERT_PARTITION,
        INSERT_LEVEL,
        LEVELS,
        PARTITIONS,
        PARTITIONS_IN_RANGE,
        TOTALS,
        RETIRE_PARTITION,
        RETIRE_ALL,
    ];

    /// Returns the numbers of the parameters in the order in which they stand in the statement.
    fn parameters(statement: &str) -> Vec<usize> {
        let digits = |text: &str| {
            text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
        };
        statement.split('$').skip(1).filter_map(digits).collect()
    }

    #[test]
    fn parameters_first_appear_in_order() {
        for statement in ALL {
            let mut highest = 0;
            for number in parameters(statement) {
                assert!(number <= highest + 1, "${number} comes too early in: {statement}");
                highest = highest.max(number);
            }
        }
    }
}
