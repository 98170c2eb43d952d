//! `QueryPeer.Scan`: the same leaf that the engine runs, without a head's plan.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use bytes::Bytes;
use datafusion::common::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan as _;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use peerage_engine::{Assignment, PartitionScanExec, ScanMetrics, ScannerHandle};
use peerage_proto::v1::query_peer_server::QueryPeer;
use peerage_proto::v1::scan_response::Part;
use peerage_proto::v1::{ScanRequest, ScanResponse};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::{Request, Response, Status};
use tracing::{debug, warn};

use super::request::{ASSIGNMENTS_MAX, shipped_leaf, too_many, written_leaf};
use super::status::{ScanRequestError, status};
use crate::scan::PeerScanner;

/// Scans that one peer answers at once. Each holds a few open partitions in memory.
const SCANS_MAX: usize = 256;

/// Counts the scans that run.
#[derive(Debug, Clone)]
pub struct ScanPermits(Arc<Semaphore>);

impl ScanPermits {
    /// Returns the number of scans that run now.
    #[must_use]
    pub fn running(&self) -> usize {
        SCANS_MAX.saturating_sub(self.0.available_permits())
    }
}

impl Default for ScanPermits {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(SCANS_MAX)))
    }
}

/// Answers `QueryPeer`.
#[derive(Debug, Clone)]
pub struct QueryPeerService {
    scanner: Arc<PeerScanner>,
    permits: ScanPermits,
}

impl QueryPeerService {
    /// Returns the service over one scanner.
    #[must_use]
    pub const fn new(scanner: Arc<PeerScanner>, permits: ScanPermits) -> Self {
        Self { scanner, permits }
    }

    async fn begin(
        &self,
        mut request: ScanRequest,
    ) -> Result<BoxStream<'static, Result<ScanResponse, Status>>, ScanRequestError> {
        let permit = Arc::clone(&self.permits.0)
            .try_acquire_owned()
            .map_err(|_busy| ScanRequestError::Overloaded { limit: SCANS_MAX })?;
        let handle = ScannerHandle(Arc::<PeerScanner>::clone(&self.scanner));
        let config = SessionConfig::new().with_extension(Arc::new(handle));
        let context = SessionContext::new_with_config(config).task_ctx();
        let (leaf, group) = match request.leaf.take() {
            Some(node) => shipped_leaf(node, request.leaf_group, &context)?,
            None => (self.write_leaf(request).await?, 0),
        };
        debug!(leaf = leaf.name(), group, "scan begins");
        run(&leaf, group, context, permit)
    }

    async fn write_leaf(
        &self,
        mut request: ScanRequest,
    ) -> Result<PartitionScanExec, ScanRequestError> {
        if request.assignments.len() > ASSIGNMENTS_MAX {
            return Err(too_many());
        }
        let assignments = std::mem::take(&mut request.assignments)
            .into_iter()
            .map(Assignment::try_from)
            .collect::<Result<Vec<_>, _>>()?;
        let first = assignments
            .first()
            .ok_or_else(|| ScanRequestError::BadRequest("no assignments".to_owned()))?;
        let counts = ScanMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
        let open = self.scanner.opener().open(first, &counts).await?;
        written_leaf(&request, assignments, open.manifest().schema())
    }
}

fn run(
    leaf: &PartitionScanExec,
    group: usize,
    context: Arc<TaskContext>,
    permit: OwnedSemaphorePermit,
) -> Result<BoxStream<'static, Result<ScanResponse, Status>>, ScanRequestError> {
    let batches = leaf.execute(group, context)?;
    let encoder = Encoder::try_new(&batches.schema()).map_err(DataFusionError::from)?;
    let leaf = leaf.clone();
    let state = (batches, Some(encoder), permit);
    let pieces = futures::stream::try_unfold(state, |(mut batches, encoder, permit)| async move {
        let Some(mut encoder) = encoder else { return Ok::<_, DataFusionError>(None) };
        match batches.try_next().await? {
            Some(batch) => {
                let bytes = encoder.encode(&batch)?;
                Ok(Some((bytes, (batches, Some(encoder), permit))))
            }
            None => Ok(Some((encoder.finish()?, (batches, None, permit)))),
        }
    });
    let statistics = futures::stream::once(async move {
        let statistics = ScanMetrics::statistics(&leaf.metrics().unwrap_or_default());
        Ok(Part::Statistics(statistics))
    });
    Ok(pieces
        .map_ok(Part::ArrowIpc)
        .chain(statistics)
        .map(|part| match part {
            Ok(part) => Ok(ScanResponse { part: Some(part) }),
            Err(error) => Err(status(&error.into())),
        })
        .boxed())
}

/// Cuts one Arrow IPC stream into messages.
struct Encoder(StreamWriter<Vec<u8>>);

impl Encoder {
    fn try_new(schema: &Schema) -> Result<Self, arrow::error::ArrowError> {
        let options =
            IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME))?;
        Ok(Self(StreamWriter::try_new_with_options(Vec::new(), schema, options)?))
    }

    fn encode(&mut self, batch: &RecordBatch) -> Result<Bytes, arrow::error::ArrowError> {
        self.0.write(batch)?;
        Ok(std::mem::take(self.0.get_mut()).into())
    }

    fn finish(mut self) -> Result<Bytes, arrow::error::ArrowError> {
        self.0.finish()?;
        Ok(std::mem::take(self.0.get_mut()).into())
    }
}

#[tonic::async_trait]
impl QueryPeer for QueryPeerService {
    type ScanStream = BoxStream<'static, Result<ScanResponse, Status>>;

    async fn scan(
        &self,
        request: Request<ScanRequest>,
    ) -> Result<Response<Self::ScanStream>, Status> {
        match self.begin(request.into_inner()).await {
            Ok(stream) => Ok(Response::new(stream)),
            Err(error) => {
                let status = status(&error);
                warn!(error = status.message(), "scan refused");
                Err(status)
            }
        }
    }
}
