//! A leaf that the planner left in the head: asked of a peer, row by row.
//!
//! This is the rare way (a plan that cannot be spread), so one peer answers a whole group.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_proto::physical_plan::DefaultPhysicalProtoConverter;
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use peerage_engine::{
    GroupScan, PartitionPlacement as _, PartitionScanCodec, PartitionScanExec, PartitionScanner,
    PeerChannels, PeerLost, ScanMetrics,
};
use peerage_proto::v1::query_peer_client::QueryPeerClient;
use peerage_proto::v1::scan_response::Part;
use peerage_proto::v1::{ScanRequest, ScanResponse};
use tonic::{Code, Status};
use url::Url;

use crate::placement::RendezvousPlacement;

/// Answers groups by `QueryPeer.Scan`.
#[derive(Debug)]
pub(crate) struct RemoteScanner {
    channels: PeerChannels,
    placement: RendezvousPlacement,
}

impl RemoteScanner {
    pub(crate) const fn new(channels: PeerChannels, placement: RendezvousPlacement) -> Self {
        Self { channels, placement }
    }

    /// Returns one scan for each peer that owns some of the partitions.
    fn split(&self, scan: &GroupScan) -> Result<Vec<(Url, GroupScan)>> {
        let peer_of = self.placement.place(&scan.assignments)?;
        let mut shares: Vec<(Url, GroupScan)> = Vec::new();
        for (assignment, peer) in scan.assignments.iter().zip(peer_of) {
            let member = self.placement.0.peers.get(peer);
            let url = member.ok_or_else(|| exec_datafusion_err!("no peer {peer}"))?.url();
            let share = match shares.iter_mut().find(|(owner, _)| *owner == url) {
                Some((_, share)) => share,
                None => {
                    let share = GroupScan { assignments: Vec::new(), ..scan.clone() };
                    &mut shares.push_mut((url, share)).1
                }
            };
            share.assignments.push(assignment.clone());
        }
        Ok(shares)
    }
}

impl PartitionScanner for RemoteScanner {
    fn scan(&self, scan: GroupScan) -> Result<SendableRecordBatchStream> {
        let schema = Arc::new(scan.table.schema().project(&scan.projection)?);
        let channels = self.channels.clone();
        let shares = futures::stream::iter(self.split(&scan)?);
        let batches = shares
            .then(move |(url, scan)| {
                let channels = channels.clone();
                async move { ask(&channels, url, &scan).await }
            })
            .try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

async fn ask(
    channels: &PeerChannels,
    url: Url,
    scan: &GroupScan,
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let leaf = PartitionScanExec::try_new(
        Arc::clone(&scan.table),
        scan.projection.clone(),
        vec![scan.assignments.clone()],
    )?
    .with_filters(scan.filters.clone())
    .with_limit(scan.limit);
    let node = PartitionScanCodec.to_node(&leaf, &DefaultPhysicalProtoConverter {})?;
    let request = ScanRequest { leaf: Some(node), leaf_group: 0, ..ScanRequest::default() };
    let mut client = QueryPeerClient::new(channels.channel(&url)?)
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(usize::MAX);
    let responses = client.scan(request).await.map_err(|status| lost(&url, &status))?.into_inner();
    let state = Decoding { decoder: StreamDecoder::new(), buffer: Buffer::from(&[]), url };
    let counts = scan.metrics.clone();
    Ok(futures::stream::try_unfold((responses, state), move |(mut responses, mut state)| {
        let counts = counts.clone();
        async move {
            loop {
                if let Some(batch) = state.decode()? {
                    return Ok(Some((batch, (responses, state))));
                }
                let response =
                    responses.message().await.map_err(|status| lost(&state.url, &status))?;
                let Some(response) = response else { return Ok(None) };
                state.take(response, &counts);
            }
        }
    })
    .boxed())
}

struct Decoding {
    decoder: StreamDecoder,
    buffer: Buffer,
    url: Url,
}

impl Decoding {
    fn take(&mut self, response: ScanResponse, counts: &ScanMetrics) {
        match response.part {
            Some(Part::ArrowIpc(bytes)) => self.buffer = Buffer::from(bytes),
            Some(Part::Statistics(statistics)) => counts.add(&statistics),
            None => {}
        }
    }

    fn decode(&mut self) -> Result<Option<RecordBatch>> {
        if self.buffer.is_empty() {
            return Ok(None);
        }
        Ok(self.decoder.decode(&mut self.buffer)?)
    }
}

fn lost(url: &Url, status: &Status) -> DataFusionError {
    match status.code() {
        Code::Unavailable | Code::Unknown | Code::Cancelled | Code::DeadlineExceeded => {
            let detail = format!("{:?}: {}", status.code(), status.message());
            DataFusionError::External(Box::new(PeerLost { url: url.clone(), detail }))
        }
        _ => exec_datafusion_err!("{}", status.message()),
    }
}
