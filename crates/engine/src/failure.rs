//! Failures of a scan that keep their kind on the way to the head.
//!
//! The engine carries a peer's error as plain text from the second hop on. So its kind stands in the
//! text, behind a mark, and [`ScanFailure::find`] reads it at the other end.

use std::error::Error;

use datafusion::common::DataFusionError;

/// What kind of failure ended a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanFailure {
    /// An object store gave no usable bytes.
    Store,
    /// The bytes of a partition are not what they should be.
    Data,
}

impl ScanFailure {
    const ALL: [Self; 2] = [Self::Store, Self::Data];

    const fn mark(self) -> &'static str {
        match self {
            Self::Store => "partition not readable: ",
            Self::Data => "partition not usable: ",
        }
    }

    /// Returns the engine's error for `error` and all its causes, marked with this kind.
    #[must_use]
    pub fn wrap(self, error: &dyn Error) -> DataFusionError {
        DataFusionError::Execution(format!("{}{}", self.mark(), chain(error)))
    }

    /// Returns the kind of failure behind `error` and its text from the mark on.
    #[must_use]
    pub fn find(error: &DataFusionError) -> Option<(Self, String)> {
        let text = error.to_string();
        Self::ALL.into_iter().find_map(|kind| {
            let start = text.find(kind.mark())?;
            Some((kind, text.get(start..)?.to_owned()))
        })
    }
}

/// Returns an error and all its causes in one line.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text = format!("{text}: {source}");
        cause = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_survives_hops() {
        let error = std::io::Error::other("bucket is gone");
        let wrapped = ScanFailure::Store.wrap(&error);
        let two_hops_on = DataFusionError::Execution(format!("task 3: {wrapped}"));
        let (kind, text) = ScanFailure::find(&two_hops_on).expect("found");
        assert_eq!(
            (kind, text.as_str()),
            (ScanFailure::Store, "partition not readable: bucket is gone")
        );
        assert_eq!(ScanFailure::find(&DataFusionError::Execution("no".to_owned())), None);
    }
}
