//! What a caller of `QueryPeer` learns of a failure: one code for each next step.

use datafusion::common::DataFusionError;
use peerage_engine::{AssignmentError, ScanFailure, chain};
use tonic::Status;

use crate::scan::ScanError;
use crate::store::StoreError;

/// A scan that was not begun, or not finished.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScanRequestError {
    /// The request cannot be understood.
    #[error("bad scan request: {0}")]
    BadRequest(String),
    /// An assignment is not one.
    #[error("bad assignment")]
    Assignment(#[source] Box<AssignmentError>),
    /// The peer works on as many scans as it may.
    #[error("peer at its limit of {limit} scans; try again or ask another peer")]
    Overloaded {
        /// The limit.
        limit: usize,
    },
    /// A partition could not be answered.
    #[error("scan failed")]
    Scan(#[source] Box<ScanError>),
    /// The plan could not be built or run.
    #[error("scan failed")]
    Engine(#[source] Box<DataFusionError>),
}

// The sources are boxed: the error of every call would be as large as the largest of them.

impl From<AssignmentError> for ScanRequestError {
    fn from(source: AssignmentError) -> Self {
        Self::Assignment(Box::new(source))
    }
}

impl From<ScanError> for ScanRequestError {
    fn from(source: ScanError) -> Self {
        Self::Scan(Box::new(source))
    }
}

impl From<DataFusionError> for ScanRequestError {
    fn from(source: DataFusionError) -> Self {
        Self::Engine(Box::new(source))
    }
}

/// Returns the status of an error, with all its causes in one line.
pub(super) fn status(error: &ScanRequestError) -> Status {
    let text = chain(error);
    match error {
        ScanRequestError::BadRequest(_) | ScanRequestError::Assignment(_) => {
            Status::invalid_argument(text)
        }
        ScanRequestError::Overloaded { .. } => Status::resource_exhausted(text),
        ScanRequestError::Scan(scan) => match scan.as_ref() {
            ScanError::Corrupt { .. } | ScanError::Mismatch { .. } | ScanError::Decode { .. } => {
                Status::data_loss(text)
            }
            ScanError::Store { source, .. } => store_status(source, text),
        },
        ScanRequestError::Engine(engine) => match ScanFailure::find(engine) {
            Some((ScanFailure::Store, text)) => Status::unavailable(text),
            Some((ScanFailure::Data, text)) => Status::data_loss(text),
            None => Status::internal(text),
        },
    }
}

fn store_status(error: &StoreError, text: String) -> Status {
    match error {
        StoreError::UnknownStorage { .. } => Status::failed_precondition(text),
        StoreError::Missing { .. } => Status::not_found(text),
        StoreError::Unavailable { .. } | StoreError::Timeout { .. } => Status::unavailable(text),
        StoreError::Checksum { .. } | StoreError::WrongLength { .. } => Status::data_loss(text),
    }
}
