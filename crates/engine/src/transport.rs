//! Channels between head and peers: with deadlines, and with errors that say which peer is lost.
//!
//! The engine's own channels wait for ever on a peer that went silent, and its transport errors turn
//! into plain text one hop further. So connections here are kept alive by pings, and a transport
//! error is marked where it is seen; [`PeerLost::find`] reads the mark at the other end.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest,
    GetWorkerInfoResponse, SetPlanRequest, WorkerChannel, WorkerToCoordinatorMsg, grpc,
};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use thiserror::Error;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use url::Url;

/// A peer that does not take a connection within this time is taken for lost.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a quiet connection is asked for a sign of life.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(2);
/// How long that sign may take.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(3);
/// Receive window of one stream: one large batch in flight at loopback and data-centre latency.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
/// Receive window of one connection: several streams at once.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Channels kept at most; a channel is a few kilobytes, addresses come from the membership.
const CHANNELS_MAX: usize = 4_096;

/// A peer went away while a query needed it: the query may run again without it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("peer lost: {url} ({detail})")]
pub struct PeerLost {
    /// Address of the peer.
    pub url: Url,
    /// What the transport said.
    pub detail: String,
}

impl PeerLost {
    const MARK: &'static str = "peer lost: ";

    /// Returns the address of the lost peer when `error`, or what caused it, is such a loss.
    #[must_use]
    pub fn find(error: &DataFusionError) -> Option<Url> {
        let text = error.to_string();
        let (_, rest) = text.split_once(Self::MARK)?;
        rest.split_whitespace().next()?.parse().ok()
    }

    fn mark(url: &Url, error: DataFusionError) -> DataFusionError {
        let DataFusionError::External(source) = error.find_root() else { return error };
        let Some(status) = source.downcast_ref::<tonic::Status>() else { return error };
        if !is_transport(status.code()) {
            return error;
        }
        let detail = format!("{:?}: {}", status.code(), status.message());
        DataFusionError::External(Box::new(Self { url: url.clone(), detail }))
    }
}

/// The engine sends its own errors in a form of their own: a bare status is the transport's.
const fn is_transport(code: Code) -> bool {
    matches!(
        code,
        Code::Unavailable
            | Code::Unknown
            | Code::Internal
            | Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Unimplemented
    )
}

/// Connections to peers, opened when first used and shared by all queries.
#[derive(Clone, Default)]
pub struct PeerChannels {
    channels: Arc<Mutex<HashMap<Url, Channel>>>,
}

impl fmt::Debug for PeerChannels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerChannels").finish_non_exhaustive()
    }
}

impl PeerChannels {
    /// Returns the channel to a peer; it connects when it is first used.
    pub fn channel(&self, url: &Url) -> Result<Channel> {
        let mut channels = self.channels.lock().expect("no holder of this lock panics");
        if let Some(channel) = channels.get(url) {
            return Ok(channel.clone());
        }
        let channel = Endpoint::from_shared(url.to_string())
            .map_err(|error| DataFusionError::External(Box::new(error)))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .tcp_nodelay(true)
            .connect_lazy();
        if channels.len() >= CHANNELS_MAX {
            channels.clear();
        }
        channels.insert(url.clone(), channel.clone());
        Ok(channel)
    }
}

#[async_trait]
impl ChannelResolver for PeerChannels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        let channel = grpc::BoxCloneSyncChannel::new(self.channel(url)?);
        Ok(Box::new(MarkingChannel {
            url: url.clone(),
            inner: grpc::create_worker_client(channel),
        }))
    }
}

/// Marks transport errors with the peer's address.
struct MarkingChannel {
    url: Url,
    inner: Box<dyn WorkerChannel>,
}

#[async_trait]
impl WorkerChannel for MarkingChannel {
    async fn coordinator_channel(
        &mut self,
        headers: http::HeaderMap,
        request: SetPlanRequest,
        to_worker: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let url = self.url.clone();
        let stream = self
            .inner
            .coordinator_channel(headers, request, to_worker, metrics, context)
            .await
            .map_err(|error| PeerLost::mark(&url, error))?;
        Ok(stream.map_err(move |error| PeerLost::mark(&url, error)).boxed())
    }

    async fn execute_task(
        &mut self,
        headers: http::HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let streams = self
            .inner
            .execute_task(headers, request, metrics, context)
            .await
            .map_err(|error| PeerLost::mark(&self.url, error))?;
        let mark = |stream: BoxStream<'static, Result<RecordBatch>>| {
            let url = self.url.clone();
            stream.map_err(move |error| PeerLost::mark(&url, error)).boxed()
        };
        Ok(streams.into_iter().map(mark).collect())
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> Result<GetWorkerInfoResponse> {
        self.inner.get_worker_info(request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: DataFusionError, is_lost: bool) {
        let url: Url = "http://127.0.0.1:9/".parse().expect("a URL");
        let marked = PeerLost::mark(&url, error);
        assert_eq!(PeerLost::find(&marked), is_lost.then(|| url.clone()), "{marked}");
        let one_hop_further = DataFusionError::Execution(format!("stage 2: {marked}"));
        assert_eq!(PeerLost::find(&one_hop_further), is_lost.then_some(url));
    }

    #[test]
    fn only_transport_errors_lose_a_peer() {
        let status = |code| DataFusionError::External(Box::new(tonic::Status::new(code, "x y")));
        check(status(Code::Unavailable), true);
        check(status(Code::Internal).context("task 3"), true);
        check(status(Code::ResourceExhausted), false);
        check(DataFusionError::Execution("divide by zero".to_owned()), false);
    }
}
