//! A partition that a peer has to answer for, checked once where it comes off the wire.
//!
//! The checked form cannot hold a name that is no partition name, a checksum of another length, or a
//! path that leaves its storage.

use peerage_partition::{Checksum, FileRef, PartitionName};
use peerage_proto::v1;
use thiserror::Error;

/// One partition as the head hands it out: everything a peer needs to read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Unique name of the partition.
    pub name: PartitionName,
    /// Id of the storage in the cluster file.
    pub storage: String,
    /// Folder of the partition's files, relative to the storage's root.
    pub path: String,
    /// Rows in the partition.
    pub rows: u64,
    /// Size and checksum of the manifest.
    pub manifest: FileRef,
    /// Size and checksum of the index.
    pub index: FileRef,
    /// Size and checksum of the data file.
    pub data: FileRef,
}

/// An assignment that this process must not follow.
#[derive(Debug, Error)]
pub enum AssignmentError {
    /// The name is no partition name: head and peer disagree on the format.
    #[error("assignment names {name:?}, which is no partition name")]
    Name {
        /// The name as it came.
        name: String,
        /// What is wrong with it.
        #[source]
        source: peerage_partition::NameError,
    },
    /// A file of the partition is not described, or its checksum has another length.
    #[error("assignment of partition {partition} lacks a valid {file} reference")]
    FileRef {
        /// The partition.
        partition: PartitionName,
        /// `manifest`, `index` or `data`.
        file: &'static str,
    },
    /// The path would leave the storage.
    #[error("assignment of partition {partition} has the unsafe path {path:?}")]
    UnsafePath {
        /// The partition.
        partition: PartitionName,
        /// The path as it came.
        path: String,
    },
}

impl Assignment {
    /// Returns the bytes of all three files: what placement balances.
    #[must_use]
    pub const fn total_bytes(&self) -> u64 {
        self.manifest.bytes.saturating_add(self.index.bytes).saturating_add(self.data.bytes)
    }

    /// Returns the wire form.
    #[must_use]
    pub fn to_proto(&self) -> v1::PartitionAssignment {
        let file = |file: &FileRef| {
            Some(v1::FileRef {
                bytes: file.bytes,
                checksum: file.checksum.as_bytes().to_vec().into(),
            })
        };
        v1::PartitionAssignment {
            name: self.name.to_string(),
            storage: self.storage.clone(),
            path: self.path.clone(),
            rows: self.rows,
            manifest: file(&self.manifest),
            index: file(&self.index),
            data: file(&self.data),
        }
    }
}

impl TryFrom<v1::PartitionAssignment> for Assignment {
    type Error = AssignmentError;

    fn try_from(wire: v1::PartitionAssignment) -> Result<Self, AssignmentError> {
        let name: PartitionName = wire
            .name
            .parse()
            .map_err(|source| AssignmentError::Name { name: wire.name.clone(), source })?;
        let is_safe = !wire.path.starts_with('/')
            && wire.path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        if !is_safe {
            return Err(AssignmentError::UnsafePath { partition: name, path: wire.path });
        }
        let file = |file: &'static str, wire: Option<v1::FileRef>| {
            wire.and_then(|wire| {
                let checksum = <[u8; 16]>::try_from(wire.checksum.as_ref()).ok()?;
                Some(FileRef { bytes: wire.bytes, checksum: Checksum::from_bytes(checksum) })
            })
            .ok_or_else(|| AssignmentError::FileRef { partition: name.clone(), file })
        };
        Ok(Self {
            manifest: file("manifest", wire.manifest)?,
            index: file("index", wire.index)?,
            data: file("data", wire.data)?,
            storage: wire.storage,
            path: wire.path,
            rows: wire.rows,
            name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(path: &str) -> v1::PartitionAssignment {
        let file = || Some(v1::FileRef { bytes: 7, checksum: vec![1; 16].into() });
        v1::PartitionAssignment {
            name: "0-10-01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned(),
            storage: "main".to_owned(),
            path: path.to_owned(),
            rows: 3,
            manifest: file(),
            index: file(),
            data: file(),
        }
    }

    fn check(wire: v1::PartitionAssignment, expected: &str) {
        let text = match Assignment::try_from(wire.clone()) {
            Ok(assignment) => {
                assert_eq!(assignment.to_proto(), wire);
                assignment.total_bytes().to_string()
            }
            Err(error) => error.to_string(),
        };
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn assignments_are_checked_at_the_edge() {
        check(wire("t/1970/01/01/x"), "21");
        check(wire("../etc"), "unsafe path");
        check(wire("/etc"), "unsafe path");
        check(wire("a//b"), "unsafe path");
        check(v1::PartitionAssignment { name: "x".to_owned(), ..wire("a") }, "no partition name");
        check(v1::PartitionAssignment { data: None, ..wire("a") }, "lacks a valid data");
        let short = Some(v1::FileRef { bytes: 1, checksum: vec![1; 15].into() });
        check(v1::PartitionAssignment { index: short, ..wire("a") }, "lacks a valid index");
    }
}
