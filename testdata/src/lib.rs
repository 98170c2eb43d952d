//! What tests and demonstrations run on: small real files, a seeded generator of CDN logs, SQL
//! scripts, and the oracle that answers them.
//!
//! - [`cdn`] makes log rows that are the same on every machine for the same seed.
//! - [`tables`] says which file stands behind each table that the scripts name.
//! - [`slt`] runs the scripts of `sql/` against any engine, [`oracle`] is plain DataFusion, and
//!   [`text`] is the one text form in which answers are compared.
//!
//! Invariant: everything under [`path`] is in the repository, so a test that uses it runs in a
//! fresh clone; whatever [`shared`] gives is an extra that may be absent. Left out: loading rows
//! into partitions, and every engine but the oracle.

pub mod cdn;
pub mod oracle;
pub mod slt;
pub mod tables;
pub mod text;

use std::path::{Path, PathBuf};

/// Returns the path of a file of this package, such as `flights/flights-200k.parquet`.
#[must_use]
pub fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// Returns the path of a file in the folder `shared` beside the repository, if it is there.
#[must_use]
pub fn shared(relative: &str) -> Option<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let file = repository.parent()?.join("shared").join(relative);
    file.exists().then_some(file)
}
