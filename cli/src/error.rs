//! How a command can fail, and how that is told.
//!
//! Invariant: the chain of causes is printed once, here, on one line; what the user can try comes
//! last.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use peerage_catalog::CatalogError;
use peerage_head::HeadError;
use peerage_peer::PeerError;

use crate::demo::DemoError;
use crate::inspect::InspectError;
use crate::load::LoadError;
use crate::open::OpenClusterError;
use crate::query::QueryError;
use crate::table::TableError;

/// Any failure of a command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The cluster file or what it names can't be opened.
    #[error(transparent)]
    Cluster(#[from] OpenClusterError),
    /// `load` failed.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// `table` failed.
    #[error(transparent)]
    Table(#[from] TableError),
    /// `inspect` failed.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// `query` failed.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// `demo` failed.
    #[error(transparent)]
    Demo(#[from] DemoError),
    /// A peer failed.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// A head failed.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// The catalog refused.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Standard output can't be written.
    #[error("write the answer")]
    Output(#[source] io::Error),
    /// The program can't start.
    #[error("start the runtime")]
    Runtime(#[source] io::Error),
}

impl CommandError {
    /// Returns the error of a runtime that does not start.
    #[must_use]
    pub fn runtime(error: io::Error) -> Self {
        Self::Runtime(error)
    }

    /// Returns what the user can try.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Cluster(error) => error.hint(),
            Self::Load(error) => error.hint(),
            Self::Table(error) => error.hint(),
            Self::Inspect(error) => error.hint(),
            Self::Catalog(CatalogError::NotFound { .. }) => {
                Some("peerage table list to see what exists".to_owned())
            }
            Self::Query(error) => error.hint(),
            Self::Demo(error) => error.hint(),
            Self::Peer(PeerError::Config(_)) | Self::Head(HeadError::Config(_)) => Some(
                "--cluster FILE or PEERAGE_CLUSTER; docs/cluster.example.yaml shows every key"
                    .to_owned(),
            ),
            Self::Peer(_) | Self::Head(_) => None,
            Self::Catalog(_) | Self::Output(_) | Self::Runtime(_) => None,
        }
    }
}

/// Returns the line that tells an error.
#[must_use]
pub fn error_line(error: &CommandError) -> String {
    let mut line = format!("error: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        // Some libraries print their source in their own text; it is not repeated.
        if !line.ends_with(&text) {
            line.push_str(": caused by ");
            line.push_str(&text);
        }
        source = cause.source();
    }
    if let Some(hint) = error.hint() {
        line.push_str("; try ");
        line.push_str(&hint);
    }
    line.replace(['\n', '\r'], " ")
}

/// Prints an error. Returns the exit code.
#[must_use]
pub fn report(error: &CommandError) -> ExitCode {
    // Whoever closed the pipe of the output does not want to hear about it.
    let is_closed_pipe =
        matches!(error, CommandError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe);
    if !is_closed_pipe {
        // Nothing more can be done if standard error is closed too.
        drop(writeln!(io::stderr().lock(), "{}", error_line(error)));
    }
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn an_error_is_one_line_with_causes_and_a_hint() {
        let source = io::Error::other("no such\nhost");
        let error = CommandError::Load(LoadError::Storage {
            storage: "local".into(),
            object: "a/b".into(),
            source: object_store::Error::Generic { store: "S3", source: Box::new(source) },
        });
        expect![
            "error: upload a/b to storage local: caused by Generic S3 error: no such host; try the same command again when the storage answers; nothing was registered"
        ]
        .assert_eq(&error_line(&error));
    }
}
