//! What a client is told of an error: one map from our errors to ClickHouse's codes.

use std::time::Duration;

use datafusion::common::DataFusionError;
use peerage_access::AccessError;
use peerage_catalog::CatalogError;
use peerage_clickhouse::{ErrorCode, Exception, from_datafusion};
use peerage_engine::{PeerLost, ScanFailure, chain};
use thiserror::Error as ThisError;
use tracing::error;

/// There is nobody to run a query.
#[derive(Debug, ThisError)]
#[error(
    "no query peer is available (membership source: {source_name}); start a peer, or look at the \
         membership in the cluster file"
)]
pub(crate) struct NoPeers {
    pub(crate) source_name: &'static str,
}

/// Returns the exception for an error of planning or running.
pub(crate) fn from_engine(error: &DataFusionError) -> Exception {
    if let Some(url) = PeerLost::find(error) {
        let message = format!("Query peer {url} was lost while the query ran: {error}");
        return Exception::new(ErrorCode::NetworkError, message);
    }
    if let Some((kind, text)) = ScanFailure::find(error) {
        let code = match kind {
            ScanFailure::Store => ErrorCode::S3Error,
            ScanFailure::Data => ErrorCode::IncorrectData,
        };
        return Exception::new(code, text);
    }
    if let DataFusionError::External(source) = error.find_root() {
        if let Some(no_peers) = source.downcast_ref::<NoPeers>() {
            return Exception::new(ErrorCode::AllConnectionTriesFailed, no_peers.to_string());
        }
        if let Some(catalog) = source.downcast_ref::<CatalogError>() {
            return from_catalog(catalog);
        }
    }
    from_datafusion(error)
}

/// Returns the exception for an error of the catalog; the log gets the chain.
pub(crate) fn from_catalog(error: &CatalogError) -> Exception {
    let code = match error {
        CatalogError::NotFound { .. } => ErrorCode::UnknownTable,
        CatalogError::Busy { .. } => ErrorCode::CannotScheduleTask,
        _ => {
            error!(error = chain(error), "catalog failed");
            ErrorCode::UnknownException
        }
    };
    Exception::new(code, chain(error))
}

/// Returns the exception for a refused login.
pub(crate) fn from_access(error: &AccessError) -> Exception {
    Exception::new(ErrorCode::AuthenticationFailed, error.to_string())
}

/// Returns the exception for a query that ran out of time.
pub(crate) fn timeout(limit: Duration) -> Exception {
    let message = format!(
        "Timeout exceeded: the query took longer than {} seconds; the limit is head.query_timeout of \
         the cluster file",
        limit.as_secs_f64()
    );
    Exception::new(ErrorCode::TimeoutExceeded, message)
}
