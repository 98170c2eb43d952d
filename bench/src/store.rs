//! The S3 server that a measurement runs against, started by `scripts/s3`.
//!
//! Invariant: unless it is to be kept, the server ends with the value that stands for it. Left out:
//! what is in the server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use peerage::open::Storage;
use serde::Deserialize;

/// The bucket of all data sets: each has a server of its own.
pub(crate) const BUCKET: &str = "bench";
/// The id of the storage in catalog and cluster file.
pub(crate) const STORAGE: &str = "main";

/// A running server.
#[derive(Debug)]
pub(crate) struct S3Server {
    script: PathBuf,
    folder: PathBuf,
    is_kept: bool,
    access: S3Access,
}

/// How to reach the server, as the script says it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct S3Access {
    endpoint: String,
    /// The region that requests are signed for.
    pub(crate) region: String,
    access_key_id: String,
    secret_access_key: String,
    /// The account that may only read.
    pub(crate) reader_access_key_id: String,
    /// Its secret.
    pub(crate) reader_secret_access_key: String,
}

impl S3Server {
    /// Starts a server on `folder`, or finds the one that runs there.
    pub(crate) async fn start(script: &Path, folder: &Path, is_kept: bool) -> anyhow::Result<Self> {
        let output = tokio::process::Command::new(script)
            .args(["--json", "start"])
            .arg(folder)
            .args(["auto", BUCKET])
            .output()
            .await
            .with_context(|| format!("run {}", script.display()))?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        let access = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("read what {} says", script.display()))?;
        Ok(Self { script: script.to_owned(), folder: folder.to_owned(), is_kept, access })
    }

    /// Ends the server that runs on `folder`, if one does.
    pub(crate) fn stop(script: &Path, folder: &Path) -> anyhow::Result<()> {
        let status = std::process::Command::new(script).arg("stop").arg(folder).status();
        let status = status.with_context(|| format!("run {}", script.display()))?;
        ensure!(status.success(), "the S3 server of {} may still run", folder.display());
        Ok(())
    }

    /// Returns how to reach the server.
    pub(crate) const fn access(&self) -> &S3Access {
        &self.access
    }

    /// Returns the address that the server listens on.
    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        let endpoint = &self.access.endpoint;
        let address = endpoint.strip_prefix("http://").and_then(|text| text.parse().ok());
        address.with_context(|| format!("{endpoint} is no http:// address"))
    }

    /// Returns the storage for writing, without a proxy in between.
    pub(crate) fn storage(&self) -> anyhow::Result<Storage> {
        let access = &self.access;
        let store: AmazonS3 = AmazonS3Builder::new()
            .with_endpoint(&access.endpoint)
            .with_allow_http(true)
            .with_region(&access.region)
            .with_bucket_name(BUCKET)
            .with_access_key_id(&access.access_key_id)
            .with_secret_access_key(&access.secret_access_key)
            .build()
            .context("open the object store")?;
        let prefix = object_store::path::Path::default();
        Ok(Storage { id: STORAGE.to_owned(), store: Arc::new(store), prefix })
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        if let Err(error) = Self::stop(&self.script, &self.folder) {
            eprintln!("warning: {error:#}");
        }
    }
}
