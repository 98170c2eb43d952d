//! What becomes of bad rows: the end of the load, or a line in the reject file.
//!
//! Invariant: every skipped row is counted, and is in the reject file if there is one.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::load::bad_row::BadRow;
use crate::load::error::LoadError;

/// What to do with a row that can't be loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// End the load at the first one; nothing is registered.
    #[default]
    Fail,
    /// Count it, write it to the file if there is one, and go on.
    Skip {
        /// The reject file.
        file: Option<PathBuf>,
    },
}

/// Takes bad rows.
#[derive(Debug)]
pub(crate) struct Rejects {
    /// Where they go, if they are skipped.
    sink: Option<Option<(PathBuf, BufWriter<File>)>>,
    count: u64,
    first: Option<Box<BadRow>>,
}

impl Rejects {
    /// Creates the reject file, if there is to be one. A file that is there is replaced.
    pub(crate) fn new(on_error: &OnError) -> Result<Self, LoadError> {
        let sink = match on_error {
            OnError::Fail => None,
            OnError::Skip { file: None } => Some(None),
            OnError::Skip { file: Some(path) } => {
                let file = File::create(path).map_err(|source| failed(path, source))?;
                Some(Some((path.clone(), BufWriter::new(file))))
            }
        };
        Ok(Self { sink, count: 0, first: None })
    }

    /// Takes a bad row: an error if the load is to end there.
    pub(crate) fn push(&mut self, row: BadRow) -> Result<(), LoadError> {
        let Some(sink) = &mut self.sink else {
            return Err(LoadError::BadRow(Box::new(row)));
        };
        if let Some((path, file)) = sink {
            let written = file.write_all(row.reject_line().as_bytes());
            written.map_err(|source| failed(path, source))?;
        }
        self.count = self.count.saturating_add(1);
        self.first.get_or_insert_with(|| Box::new(row));
        Ok(())
    }

    /// Writes out the reject file. Returns the number of rows and the first one.
    pub(crate) fn finish(mut self) -> Result<(u64, Option<Box<BadRow>>), LoadError> {
        if let Some(Some((path, file))) = &mut self.sink {
            file.flush().map_err(|source| failed(path, source))?;
        }
        Ok((self.count, self.first))
    }
}

/// Returns the error of the reject file.
fn failed(path: &Path, source: std::io::Error) -> LoadError {
    LoadError::RejectFile { path: path.display().to_string(), source }
}
