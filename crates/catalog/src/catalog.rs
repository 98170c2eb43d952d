//! The handle that every other part of the system holds.
//!
//! Invariant: each method that changes something is one transaction. What was committed is on disk
//! when the method returns.

use std::path::Path;
use std::sync::Arc;

use crate::connections::Connections;
use crate::draft::{NewColumn, NewTable, TableDraft};
use crate::error::CatalogError;
use crate::partition::{NewPartition, unsigned};
use crate::snapshot::{CatalogSnapshot, rows};
use crate::table::{Table, TableId};
use crate::{sql, write};

/// How the URL of a SQLite catalog begins; a relative or absolute path follows.
const SQLITE_SCHEME: &str = "sqlite://";

/// The catalog. Cloning is cheap, and all clones share their connections.
#[derive(Clone, Debug)]
pub struct Catalog {
    connections: Arc<Connections>,
}

impl Catalog {
    /// Opens the catalog at `url` (`sqlite://PATH`), creating it where it is missing and bringing an
    /// older one to the newest schema.
    ///
    /// # Errors
    /// [`CatalogError::InvalidName`] for another kind of URL, [`CatalogError::TooNew`] for a catalog
    /// of a newer program, [`CatalogError::Unavailable`] if the file can't be opened.
    pub async fn open(url: &str) -> Result<Self, CatalogError> {
        let path = url.strip_prefix(SQLITE_SCHEME).filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| CatalogError::InvalidName {
            what: "catalog",
            // Only the scheme: another kind of URL may hold a password.
            name: url.split_once("://").map_or("", |(scheme, _)| scheme).to_owned(),
            reason: "use sqlite://PATH",
        })?;
        let connections = Connections::open(Path::new(path)).await?;
        Ok(Self { connections: Arc::new(connections) })
    }

    /// Returns the newest state: what a query looks at from its first to its last step.
    ///
    /// # Errors
    /// Any [`CatalogError`] of reading.
    pub async fn snapshot(&self) -> Result<CatalogSnapshot, CatalogError> {
        let read = |row: &rusqlite::Row<'_>| unsigned(row, 0);
        let found = self
            .connections
            .read(move |connection| rows(connection, sql::LAST_SEQUENCE, (), read))
            .await?;
        Ok(CatalogSnapshot::new(self.clone(), found.into_iter().next().unwrap_or_default()))
    }

    /// Returns the databases of the newest state.
    ///
    /// # Errors
    /// Any [`CatalogError`] of reading.
    pub async fn databases(&self) -> Result<Vec<String>, CatalogError> {
        self.snapshot().await?.databases().await
    }

    /// Returns the tables of the newest state.
    ///
    /// # Errors
    /// Any [`CatalogError`] of reading.
    pub async fn tables(&self) -> Result<Vec<Table>, CatalogError> {
        self.snapshot().await?.tables().await
    }

    /// Returns one table of the newest state.
    ///
    /// # Errors
    /// [`CatalogError::NotFound`] if there is none of this name.
    pub async fn table(&self, database: &str, name: &str) -> Result<Table, CatalogError> {
        self.snapshot().await?.table(database, name).await
    }

    /// Creates a table.
    ///
    /// # Errors
    /// [`CatalogError::AlreadyExists`], or what [`TableDraft::create`] finds wrong.
    pub async fn create_table(&self, table: NewTable) -> Result<Table, CatalogError> {
        let (table, _sequence) = self.commit(TableDraft::create(table)?, Vec::new()).await?;
        Ok(table)
    }

    /// Drops a table and retires its partitions; its files stay until they are collected.
    ///
    /// # Errors
    /// [`CatalogError::NotFound`] if there is none of this name.
    pub async fn drop_table(&self, database: &str, name: &str) -> Result<u64, CatalogError> {
        let (database, name) = (database.to_owned(), name.to_owned());
        self.change(move |connection| write::drop_table(connection, &database, &name)).await
    }

    /// Adds columns at the end of a table. They must be nullable: the rows that are there have no
    /// value for them.
    ///
    /// # Errors
    /// [`CatalogError::NotFound`], [`CatalogError::AlreadyExists`] or a name or type that is wrong.
    pub async fn add_columns(
        &self,
        table: TableId,
        columns: Vec<NewColumn>,
    ) -> Result<Table, CatalogError> {
        let write = move |connection: &_| write::add_columns(connection, table, columns);
        let (table, _sequence) = self.connections.write(write).await?;
        Ok(table)
    }

    /// Makes `draft` true (creates the table, or adds its new columns) and registers `partitions`,
    /// all or nothing. Returns the table and the sequence from which on this is visible.
    ///
    /// # Errors
    /// [`CatalogError::AlreadyExists`] or [`CatalogError::Conflict`] if another writer was faster.
    pub async fn commit(
        &self,
        draft: TableDraft,
        partitions: Vec<NewPartition>,
    ) -> Result<(Table, u64), CatalogError> {
        let write = move |connection: &_| write::commit(connection, &draft, &partitions);
        let (table, sequence) = self.connections.write(write).await?;
        Ok((table, public_sequence(sequence)?))
    }

    /// Registers partitions of an existing table, all or none. Returns the sequence from which on
    /// they are visible.
    ///
    /// # Errors
    /// [`CatalogError::NotFound`] for the table, [`CatalogError::AlreadyExists`] for a partition
    /// whose name was ever used.
    pub async fn register(
        &self,
        table: TableId,
        partitions: &[NewPartition],
    ) -> Result<u64, CatalogError> {
        let partitions = partitions.to_vec();
        self.change(move |connection| write::register(connection, table, &partitions)).await
    }

    /// Retires partitions, all or none: snapshots from now on do not show them. Returns the sequence.
    ///
    /// # Errors
    /// [`CatalogError::NotFound`] if one of them is not there or retired already.
    pub async fn retire(&self, table: TableId, names: &[String]) -> Result<u64, CatalogError> {
        let names = names.to_vec();
        self.change(move |connection| write::retire(connection, table, &names)).await
    }

    /// Returns the connections, for the snapshots of this catalog.
    pub(crate) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Runs a change that answers only its sequence.
    async fn change(
        &self,
        write: impl FnOnce(&rusqlite::Connection) -> Result<i64, CatalogError> + Send + 'static,
    ) -> Result<u64, CatalogError> {
        public_sequence(self.connections.write(write).await?)
    }
}

/// Returns a stored sequence as callers see it.
fn public_sequence(sequence: i64) -> Result<u64, CatalogError> {
    u64::try_from(sequence).map_err(|error| CatalogError::corrupt("a negative sequence", error))
}
