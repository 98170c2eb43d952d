//! The load itself: read, prepare, collect, encode, upload, and register at the end.
//!
//! ```text
//! reader (one thread) -> chunks -> prepare (all cores, in order) -> buckets -> encode (all cores)
//!     -> upload -> ... -> one transaction in the catalog
//! ```
//!
//! Invariants: every queue is bounded, so memory is too; the catalog is written once, after the last
//! upload, so whatever happens before leaves nothing visible.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use futures::stream::{BoxStream, Stream, StreamExt};
use peerage_catalog::{Catalog, CatalogError, NewPartition, Table, TableDraft};
use peerage_partition::WriterOptions;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio_stream::wrappers::ReceiverStream;

use crate::load::bucket::{BUFFERED_BYTES_MAX, Buckets};
use crate::load::encode::encode;
use crate::load::error::LoadError;
use crate::load::feed::{Chunk, Feed, PendingInput, probe_all};
use crate::load::plan::{LoadPlan, Probe, TableWish};
use crate::load::prepare::{Prepared, prepare};
use crate::load::progress::Progress;
use crate::load::read::ByteCount;
use crate::load::reject::Rejects;
use crate::load::summary::LoadSummary;
use crate::load::upload::{remove, upload};
use crate::load::{LoadRequest, LoadSource};
use crate::open::Storage;

/// Chunks that are read but not prepared yet, per core: reading seldom waits, memory stays small.
const CHUNKS_WAITING_PER_CORE: usize = 1;

/// Partitions that are uploaded while the cores encode others.
const UPLOADS_AHEAD: usize = 2;

/// Loads what the request names.
///
/// # Errors
/// [`LoadError`]; then nothing of the load is visible in the catalog.
pub async fn run(request: LoadRequest, progress: &dyn Progress) -> Result<LoadSummary, LoadError> {
    let started = Instant::now();
    let existing = existing_table(&request).await?;
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let LoadRequest { catalog, storage, source, options, .. } = request;
    let wish = TableWish {
        database: &request.database,
        table: &request.table,
        given: &options.columns,
        timestamp: options.timestamp.as_deref(),
        format: &options.timestamp_format,
        sort_by: &options.sort_by,
    };
    let mut rejects = Rejects::new(&options.on_error)?;
    let count = ByteCount::default();
    let (probed, probes) = probe(source, options.sample_rows, count.clone()).await?;
    let plan = Arc::new(LoadPlan::new(&wish, existing.as_ref(), &probes)?);
    progress.begin(probed.bytes());
    let span_ms = options.partition_span.map(|span| i64::try_from(span.as_millis()));
    let span_ms = span_ms.transpose().map_err(|error| {
        LoadError::request(format!("the partition span is too long: {error}"), "a shorter one")
    })?;
    let chunks = probed.chunks(&plan, count, cores);
    let mut prepared = Box::pin(prepare_all(chunks, &plan, span_ms, cores));
    let mut stores = Stores::new(&plan, &storage, options.writer, cores);
    let buckets = Buckets::new(options.partition_rows.get(), BUFFERED_BYTES_MAX);
    let fed = collect(&mut prepared, buckets, &mut stores, &mut rejects, progress).await;
    drop(prepared);
    progress.end();
    let bytes_in = match fed {
        Ok(bytes_in) => bytes_in,
        Err(error) => {
            remove(&storage, &stores.abandon(&error).await).await;
            return Err(error);
        }
    };
    let partitions = stores.stored;
    let (rejected, sequence) = match finish(&catalog, &plan, rejects, &partitions).await {
        Ok(finished) => finished,
        Err(error) => {
            remove(&storage, &partitions).await;
            return Err(error);
        }
    };
    Ok(LoadSummary {
        table: plan.draft.qualified_name(),
        is_new_table: plan.draft.is_new(),
        primary: plan.draft.primary_column().map(|column| column.name.clone()),
        added_columns: plan.added.clone(),
        rows: partitions.iter().map(|partition| partition.rows).sum(),
        partitions: u64::try_from(partitions.len()).unwrap_or(u64::MAX),
        bytes_in,
        bytes_out: partitions.iter().map(bytes_of).sum(),
        rejected,
        sequence,
        elapsed: started.elapsed(),
    })
}

/// Ends the reject file and registers all partitions. Returns the number of bad rows and the sequence.
async fn finish(
    catalog: &Catalog,
    plan: &LoadPlan,
    rejects: Rejects,
    partitions: &[NewPartition],
) -> Result<(u64, u64), LoadError> {
    let (rejected, first) = rejects.finish()?;
    if let (Some(first), true) = (first, partitions.is_empty()) {
        return Err(LoadError::AllRejected { rejected, first });
    }
    let sequence = match catalog.commit(plan.draft.clone(), partitions.to_vec()).await {
        Ok((_, sequence)) => sequence,
        // Another load created the table meanwhile: if it is the same table, that is no conflict.
        Err(error @ CatalogError::AlreadyExists { what: "table", .. }) => {
            let table = catalog.table(plan.draft.database(), plan.draft.name()).await?;
            let is_same = table.columns == plan.draft.columns()
                && table.primary_column() == plan.draft.primary_column()
                && table.sort_by == plan.draft.sort_by();
            if !is_same {
                return Err(error.into());
            }
            catalog.commit(TableDraft::extend(&table), partitions.to_vec()).await?.1
        }
        Err(error) => return Err(error.into()),
    };
    Ok((rejected, sequence))
}

/// Returns the table, or none if it is to be created.
async fn existing_table(request: &LoadRequest) -> Result<Option<Table>, LoadError> {
    match request.catalog.table(&request.database, &request.table).await {
        Ok(table) => Ok(Some(table)),
        Err(CatalogError::NotFound { .. }) if request.options.creates_table => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Inputs that have been looked at, or batches that need not be.
enum Probed {
    Inputs(Vec<PendingInput>),
    Batches(BoxStream<'static, RecordBatch>),
}

impl Probed {
    /// Returns the stored size of all inputs, if it is known of each.
    fn bytes(&self) -> Option<u64> {
        match self {
            Self::Inputs(inputs) => inputs.iter().map(|pending| pending.input.bytes).sum(),
            Self::Batches(_) => None,
        }
    }

    /// Begins to read.
    fn chunks(
        self,
        plan: &Arc<LoadPlan>,
        count: ByteCount,
        cores: usize,
    ) -> BoxStream<'static, Result<Chunk, LoadError>> {
        match self {
            Self::Inputs(inputs) => {
                let (chunks, queue) = mpsc::channel(cores * CHUNKS_WAITING_PER_CORE);
                let feed = Feed { chunks, count, plan: Arc::clone(plan) };
                // Ends by itself: with the inputs, or when the queue is dropped.
                drop(tokio::task::spawn_blocking(move || feed.read_all(inputs)));
                ReceiverStream::new(queue).boxed()
            }
            Self::Batches(batches) => {
                let input: Arc<str> = "generated".into();
                let numbered = batches.scan(0_u64, move |rows, batch| {
                    let first_row = *rows;
                    let more = u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
                    *rows = rows.saturating_add(more);
                    let input = Arc::clone(&input);
                    let chunk = Chunk::Rows { input, first_row, batch, bytes: 0 };
                    futures::future::ready(Some(Ok(chunk)))
                });
                numbered.boxed()
            }
        }
    }
}

/// Looks at all inputs.
async fn probe(
    source: LoadSource,
    sample_rows: usize,
    count: ByteCount,
) -> Result<(Probed, Vec<Probe>), LoadError> {
    match source {
        LoadSource::Inputs(inputs) => {
            let probed = on_blocking_pool(move || probe_all(inputs, sample_rows, &count)).await;
            probed.map(|(inputs, probes)| (Probed::Inputs(inputs), probes))
        }
        LoadSource::Batches { schema, batches } => {
            let probe = Probe { input: "generated".into(), is_text: false, schema };
            Ok((Probed::Batches(batches), vec![probe]))
        }
    }
}

/// Prepares chunks on all cores; the answers come in the order of the input.
fn prepare_all(
    chunks: BoxStream<'static, Result<Chunk, LoadError>>,
    plan: &Arc<LoadPlan>,
    span_ms: Option<i64>,
    cores: usize,
) -> impl Stream<Item = Result<Prepared, LoadError>> + use<> {
    let plan = Arc::clone(plan);
    chunks
        .map(move |chunk| {
            let plan = Arc::clone(&plan);
            async move {
                let chunk = chunk?;
                on_blocking_pool(move || prepare(&plan, span_ms, chunk)).await
            }
        })
        .buffered(cores)
}

/// Takes all prepared rows into buckets and hands full partitions on. Returns the bytes read.
async fn collect(
    prepared: &mut (impl Stream<Item = Result<Prepared, LoadError>> + Unpin),
    mut buckets: Buckets,
    stores: &mut Stores,
    rejects: &mut Rejects,
    progress: &dyn Progress,
) -> Result<u64, LoadError> {
    let mut bytes_in = 0_u64;
    while let Some(prepared) = prepared.next().await {
        let Prepared { spans, bad, bytes } = prepared?;
        for row in bad {
            rejects.push(row)?;
        }
        let rows: usize = spans.iter().map(|(_, batch)| batch.num_rows()).sum();
        bytes_in = bytes_in.saturating_add(bytes);
        progress.advance(u64::try_from(rows).unwrap_or(u64::MAX), bytes);
        for (span, batch) in spans {
            for partition in buckets.push(span, &batch) {
                stores.push(partition, progress).await?;
            }
        }
    }
    while let Some(partition) = buckets.pop() {
        stores.push(partition, progress).await?;
    }
    stores.wait(progress).await?;
    Ok(bytes_in)
}

/// Encodes and uploads partitions, a bounded number at a time.
struct Stores {
    plan: Arc<LoadPlan>,
    storage: Storage,
    table_folder: Arc<str>,
    writer: WriterOptions,
    jobs_max: usize,
    jobs: JoinSet<Result<NewPartition, LoadError>>,
    stored: Vec<NewPartition>,
}

impl Stores {
    fn new(plan: &Arc<LoadPlan>, storage: &Storage, writer: WriterOptions, cores: usize) -> Self {
        let table_folder = format!("{}/{}", plan.draft.database(), plan.draft.name()).into();
        Self {
            plan: Arc::clone(plan),
            storage: storage.clone(),
            table_folder,
            writer,
            jobs_max: cores + UPLOADS_AHEAD,
            jobs: JoinSet::new(),
            stored: Vec::new(),
        }
    }

    /// Begins to store a partition, after waiting for room.
    async fn push(
        &mut self,
        pieces: Vec<RecordBatch>,
        progress: &dyn Progress,
    ) -> Result<(), LoadError> {
        while self.jobs.len() >= self.jobs_max {
            self.next(progress).await?;
        }
        let (plan, writer) = (Arc::clone(&self.plan), self.writer.clone());
        let (storage, folder) = (self.storage.clone(), Arc::clone(&self.table_folder));
        self.jobs.spawn(async move {
            let encoded = on_blocking_pool(move || encode(&plan, &writer, &pieces)).await?;
            upload(&storage, &folder, encoded).await
        });
        Ok(())
    }

    /// Waits for all partitions.
    async fn wait(&mut self, progress: &dyn Progress) -> Result<(), LoadError> {
        while !self.jobs.is_empty() {
            self.next(progress).await?;
        }
        Ok(())
    }

    /// Waits for one partition.
    async fn next(&mut self, progress: &dyn Progress) -> Result<(), LoadError> {
        if let Some(ended) = self.jobs.join_next().await {
            let partition = joined(ended)?;
            progress.stored(partition.rows, bytes_of(&partition));
            self.stored.push(partition);
        }
        Ok(())
    }

    /// Gives up because of `failure`. Returns what is stored nevertheless. When the storage itself
    /// fails, the uploads in flight are not waited for.
    async fn abandon(mut self, failure: &LoadError) -> Vec<NewPartition> {
        if matches!(failure, LoadError::Storage { .. }) {
            self.jobs.abort_all();
        }
        while let Some(ended) = self.jobs.join_next().await {
            if let Ok(Ok(partition)) = ended {
                self.stored.push(partition);
            }
        }
        self.stored
    }
}

/// Returns the bytes of all files of a partition.
fn bytes_of(partition: &NewPartition) -> u64 {
    let files = [partition.manifest, partition.index, partition.data];
    files.iter().map(|file| file.bytes).sum()
}

/// Runs work on the blocking pool.
async fn on_blocking_pool<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LoadError> + Send + 'static,
) -> Result<T, LoadError> {
    joined(tokio::task::spawn_blocking(work).await)
}

/// Returns the answer of a task. A panic in it is ours and goes on; a task that was cancelled means
/// that the program stops.
fn joined<T>(ended: Result<Result<T, LoadError>, JoinError>) -> Result<T, LoadError> {
    match ended {
        Ok(answer) => answer,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => Err(LoadError::input("the rest of the input", error)),
        },
    }
}
