//! `peerage demo`: the whole system on one machine, in one folder, with generated data.
//!
//! Starts three peers and a head as child processes of this program, loads a few million rows of a
//! CDN's log through the ordinary load, asks five questions and shows what each cost. The folder
//! holds everything, so a second start loads nothing, and deleting it leaves nothing behind.

mod children;
mod questions;
mod setup;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use futures::StreamExt as _;
use indicatif::{HumanBytes, HumanCount};
use peerage_catalog::{Catalog, CatalogError};
use peerage_cluster::ConfigError;
use peerage_engine::telemetry::stop_requested;
use peerage_testdata::cdn::{self, CdnOptions, Generator};
use thiserror::Error;
use url::Url;

pub use questions::QUESTIONS;

use crate::demo::children::Children;
use crate::demo::setup::DemoFolder;
use crate::load::{self, LoadError, LoadOptions, LoadRequest, LoadSource, ProgressLine};
use crate::query::{QueryError, ask, cost_line};

/// Seed of the rows: the same on every machine.
const SEED: u64 = 42;
/// Days that the rows are spread over.
const DAYS: u32 = 7;
/// Rows of one partition: a few dozen partitions, so that placement and pruning can be seen.
const PARTITION_ROWS: usize = 100_000;
/// Share of rows that come late, in percent: neighbouring partitions overlap a little.
const LATE_PERCENT: f64 = 2.0;
/// The database of the table.
const DATABASE: &str = "demo";
/// The table.
const TABLE: &str = "logs";

/// Options of `peerage demo`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    peerage demo\n  \
    peerage demo --once --rows 500000\n  \
    peerage demo --dir /tmp/peerage --http-port 9000")]
pub struct DemoArgs {
    /// Rows of the generated log
    #[arg(long, env = "PEERAGE_DEMO_ROWS", value_name = "N", default_value_t = 3_000_000)]
    pub rows: u64,
    /// Peers to start
    #[arg(long, env = "PEERAGE_DEMO_PEERS", value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u16).range(1..=16))]
    pub peers: u16,
    /// Folder of data, catalog, caches and logs
    #[arg(long, env = "PEERAGE_DEMO_DIR", value_name = "FOLDER", default_value = "peerage-demo")]
    pub dir: PathBuf,
    /// Port of the head; another one is taken when it is not free
    #[arg(long, env = "PEERAGE_DEMO_HTTP_PORT", value_name = "PORT", default_value_t = 8123)]
    pub http_port: u16,
    /// Stop after the questions
    #[arg(long, env = "PEERAGE_DEMO_ONCE")]
    pub once: bool,
}

/// A demonstration that did not go through.
#[derive(Debug, Error)]
pub enum DemoError {
    /// The folder cannot be used.
    #[error("cannot use folder {folder}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The cluster file that was written is refused: the folder's path has a form it does not take.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The catalog in the folder cannot be used.
    #[error("cannot use the catalog of the demonstration")]
    Catalog(#[from] CatalogError),
    /// The storage in the folder cannot be used.
    #[error(transparent)]
    Storage(#[from] peerage_peer::store::OpenError),
    /// The rows could not be loaded.
    #[error("cannot load the generated rows")]
    Load(#[from] LoadError),
    /// A process could not be started, or ended by itself.
    #[error("{role} did not start or ended by itself; its log is {log}")]
    Child {
        /// `head` or `peer 2`.
        role: String,
        /// Its log.
        log: PathBuf,
        /// What the system said, if it was the system.
        #[source]
        source: Option<io::Error>,
    },
    /// A question was not answered.
    #[error("a question of the demonstration was not answered")]
    Query(#[from] QueryError),
    /// Standard output cannot be written.
    #[error("write to standard output")]
    Output(#[source] io::Error),
}

impl DemoError {
    /// Returns what the user can try.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Folder { .. } => Some("another folder with --dir".to_owned()),
            Self::Catalog(_) => Some("deleting the folder of the demonstration".to_owned()),
            _ => None,
        }
    }
}

/// Returns what the rows of the demonstration are generated from.
#[must_use]
pub fn generated_rows(rows: u64) -> CdnOptions {
    CdnOptions { seed: SEED, rows, days: DAYS, late_percent: LATE_PERCENT, ..CdnOptions::default() }
}

/// Writes one line to standard output.
fn say(line: &str) -> Result<(), DemoError> {
    writeln!(io::stdout().lock(), "{line}").map_err(DemoError::Output)
}

impl DemoArgs {
    /// Runs the demonstration.
    ///
    /// # Errors
    /// [`DemoError`]; all processes are stopped.
    pub async fn run(self) -> Result<(), DemoError> {
        let started = Instant::now();
        let folder = DemoFolder::prepare(&self)?;
        say(&format!(
            "Peerage demo in {}: 1 head, {} peers, {} rows\n",
            folder.path.display(),
            self.peers,
            HumanCount(self.rows)
        ))?;
        let mut children = Children::start(&folder).await?;
        let asked = async {
            self.load(&folder).await?;
            questions::ask_all(&folder.url).await
        };
        let asked = tokio::select! {
            asked = asked => asked.map(|()| true),
            dead = children.first_to_end() => Err(dead),
            () = stop_requested(false) => Ok(false),
        };
        let wants_more = asked? && !self.once;
        say(&format!("Ready after {:.1} s.", started.elapsed().as_secs_f64()))?;
        if wants_more {
            say(&folder.how_to_connect())?;
            tokio::select! {
                dead = children.first_to_end() => return Err(dead),
                () = stop_requested(false) => {}
            }
        }
        children.stop().await;
        Ok(())
    }

    /// Loads the rows, unless an earlier run did.
    async fn load(&self, folder: &DemoFolder) -> Result<(), DemoError> {
        let catalog = Catalog::open(&folder.catalog_url()).await?;
        if let Ok(table) = catalog.table(DATABASE, TABLE).await {
            let totals = catalog.snapshot().await?.totals(table.id).await?;
            if totals.rows == self.rows {
                return say(&format!(
                    "{} rows are there from an earlier run.\n",
                    HumanCount(self.rows)
                ));
            }
            catalog.drop_table(DATABASE, TABLE).await?;
        }
        let generator = Generator::new(generated_rows(self.rows));
        let request = LoadRequest {
            catalog,
            storage: folder.open_storage()?,
            database: DATABASE.to_owned(),
            table: TABLE.to_owned(),
            source: LoadSource::Batches {
                schema: cdn::schema(),
                batches: futures::stream::iter(generator).boxed(),
            },
            options: LoadOptions {
                timestamp: Some("ts".to_owned()),
                partition_rows: PARTITION_ROWS.try_into().unwrap_or(load::PARTITION_ROWS_DEFAULT),
                ..LoadOptions::default()
            },
        };
        say("Generating and loading rows of a CDN's log into demo.logs ...")?;
        let summary = load::run(request, &ProgressLine::new()).await?;
        say(&format!(
            "Loaded {} rows into {} partitions ({}) in {:.1} s: {} rows/s.\n",
            HumanCount(summary.rows),
            summary.partitions,
            HumanBytes(summary.bytes_out),
            summary.elapsed.as_secs_f64(),
            HumanCount(summary.rows_per_second())
        ))
    }
}

/// Asks one question and shows SQL, answer and cost.
async fn show(url: &Url, title: &str, sql: &str) -> Result<(), DemoError> {
    let answer = ask(url, sql, &[("default_format", "PrettyCompact")]).await?;
    let bytes = u64::try_from(answer.body.len()).unwrap_or(u64::MAX);
    let elapsed: Duration = answer.elapsed;
    say(&format!("-- {title}\n{sql}\n"))?;
    say(&String::from_utf8_lossy(&answer.body))?;
    say(&format!("{}\n", cost_line(elapsed, bytes, answer.statistics.as_ref())))
}
