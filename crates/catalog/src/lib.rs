//! The catalog: which tables exist, which columns they have, and which partitions hold their rows.
//!
//! It is the only place where a partition becomes visible. Files are uploaded first and registered
//! last, in one transaction, so a reader sees all partitions of a load or none.
//!
//! Invariants:
//! - A column id is never used again in its table, a partition name never again anywhere.
//! - Every change has a **sequence**. A [`CatalogSnapshot`] is one sequence: what is registered,
//!   retired, added or dropped later does not change what the snapshot shows.
//! - A partition row never changes, but for the sequence at which it was retired.
//!
//! ```text
//! Catalog --snapshot()--> CatalogSnapshot --table()/partitions()--> Table, PartitionRecord
//!    |
//!    +-- commit(TableDraft, partitions): create or extend the table and register, all or nothing
//! ```
//!
//! SQLite is the engine (one file beside the data). All statements stand in one file in a dialect
//! that PostgreSQL runs too. Not here: who may see a table (the access crate) and where the bytes of
//! a storage are (the cluster file); a storage is only an identifier here.

mod catalog;
mod column_type;
mod connections;
mod draft;
mod error;
mod migrate;
mod name;
mod partition;
mod snapshot;
mod span;
mod sql;
mod table;
mod write;

pub use catalog::Catalog;
pub use draft::{NewColumn, NewTable, TableDraft};
pub use error::CatalogError;
pub use name::{COLUMN_NAME_BYTES_MAX, COLUMNS_MAX, TABLE_NAME_BYTES_MAX};
pub use partition::{NewPartition, PartitionRecord, TableTotals};
pub use snapshot::CatalogSnapshot;
pub use table::{Table, TableColumn, TableId};
