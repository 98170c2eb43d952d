//! The connections to the SQLite file: one that writes, a few that read.
//!
//! SQLite blocks, so every use runs on the blocking pool of the runtime. Write-ahead logging lets
//! readers go on while one writer commits; other processes may read and write the same file.
//!
//! Invariant: a connection is in one hand at a time, and comes back without an open transaction.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::Semaphore;

use crate::error::{CatalogError, EngineContext};
use crate::migrate::migrate;

/// Connections that read at the same time: a read takes well under a millisecond, so four serve
/// thousands of queries per second; more callers wait.
const READERS_MAX: usize = 4;

/// How long SQLite waits for another process that writes, before the call is answered "busy".
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How often opening is tried again. While another process makes the first connection to a new
/// file, SQLite answers "busy" at once instead of waiting.
const OPEN_RETRIES_MAX: u32 = 100;

/// The pause between two tries to open.
const OPEN_RETRY_PAUSE: Duration = Duration::from_millis(20);

/// Prepared statements kept per connection: more than there are statements.
const STATEMENTS_CACHED: usize = 64;

/// The connections behind one catalog, shared by all its clones.
#[derive(Debug)]
pub(crate) struct Connections {
    path: Box<Path>,
    /// The only connection that writes: SQLite has one writer anyway, and waiting here is fair.
    writer: Arc<tokio::sync::Mutex<Connection>>,
    idle_readers: Arc<Mutex<Vec<Connection>>>,
    reader_permits: Arc<Semaphore>,
}

impl Connections {
    /// Opens the file, creating it and its folder where they are missing, and migrates the schema.
    pub(crate) async fn open(path: &Path) -> Result<Self, CatalogError> {
        let path: Box<Path> = path.into();
        let mut tries = 0;
        let writer = loop {
            let opened = path.clone();
            match blocking(move || open_writer(&opened)).await {
                Err(error) if error.is_transient() && tries < OPEN_RETRIES_MAX => {
                    tries += 1;
                    tokio::time::sleep(OPEN_RETRY_PAUSE).await;
                }
                opened => break opened?,
            }
        };
        Ok(Self {
            path,
            writer: Arc::new(tokio::sync::Mutex::new(writer)),
            idle_readers: Arc::default(),
            reader_permits: Arc::new(Semaphore::new(READERS_MAX)),
        })
    }

    /// Runs `read` in one read transaction: all its statements see the same state.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        let permit = Arc::clone(&self.reader_permits).acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        let idle = Arc::clone(&self.idle_readers);
        let path = self.path.clone();
        blocking(move || {
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = match kept {
                Some(connection) => connection,
                None => connect(&path)?,
            };
            let transaction = connection.transaction().during("begin to read the catalog")?;
            let answer = read(&transaction);
            transaction.finish().during("end reading the catalog")?;
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop(permit);
            answer
        })
        .await
    }

    /// Runs `write` in one write transaction, which is committed when it returns `Ok` and undone
    /// otherwise. A caller that stops waiting does not stop a transaction that has begun.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Connection) -> Result<T, CatalogError> + Send + 'static,
    ) -> Result<T, CatalogError> {
        let mut connection = Arc::clone(&self.writer).lock_owned().await;
        blocking(move || {
            // Immediate: the write lock is taken first, so sequences come in commit order.
            let transaction = connection
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .during("begin to write the catalog")?;
            let answer = write(&transaction)?;
            transaction.commit().during("commit to the catalog")?;
            Ok(answer)
        })
        .await
    }
}

/// Opens the connection that writes, on a file that may not exist yet.
fn open_writer(path: &Path) -> Result<Connection, CatalogError> {
    create_parent(path)?;
    let mut connection = connect(path)?;
    // Kept in the file: readers that are opened later find it set.
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .during("switch the catalog to write-ahead logging")?;
    migrate(&mut connection)?;
    Ok(connection)
}

/// Creates the folder that the catalog file stands in.
fn create_parent(path: &Path) -> Result<(), CatalogError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(parent).map_err(|error| CatalogError::Unavailable {
        action: format!("create the folder {} of the catalog", parent.display()),
        source: Box::new(error),
    })
}

/// Opens one connection with the settings that all of them have.
fn connect(path: &Path) -> Result<Connection, CatalogError> {
    let action = format!("open the catalog {}", path.display());
    let connection = Connection::open(path).during(&action)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    connection.busy_timeout(BUSY_TIMEOUT).during(&action)?;
    // A registered partition must survive a power cut: its files are already uploaded.
    connection.pragma_update(None, "synchronous", "FULL").during(&action)?;
    connection.pragma_update(None, "foreign_keys", true).during(&action)?;
    Ok(connection)
}

/// Runs `work` on the blocking pool.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CatalogError> + Send + 'static,
) -> Result<T, CatalogError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(CatalogError::Unavailable {
                action: "use the catalog while the program stops".into(),
                source: Box::new(error),
            }),
        },
    }
}
