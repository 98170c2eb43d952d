//! The folder of a demonstration: cluster file, data, catalog, caches, logs.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use peerage_cluster::ClusterConfig;
use peerage_peer::store::{Storage, open_storage};
use url::Url;

use super::{DemoArgs, DemoError};

/// Addresses of one peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerPorts {
    pub(super) grpc: SocketAddr,
    pub(super) http: SocketAddr,
}

/// A folder that is ready for processes to work in.
#[derive(Debug)]
pub(super) struct DemoFolder {
    pub(super) path: PathBuf,
    pub(super) cluster_file: PathBuf,
    pub(super) head: SocketAddr,
    pub(super) peers: Vec<PeerPorts>,
    pub(super) url: Url,
    config: ClusterConfig,
}

impl DemoFolder {
    /// Makes the folder, chooses free ports and writes the cluster file.
    pub(super) fn prepare(args: &DemoArgs) -> Result<Self, DemoError> {
        let unusable = |source| DemoError::Folder { folder: args.dir.clone(), source };
        std::fs::create_dir_all(args.dir.join("logs")).map_err(unusable)?;
        let path = args.dir.canonicalize().map_err(unusable)?;
        let head = free_address(args.http_port).map_err(unusable)?;
        let peers = (0..args.peers)
            .map(|_| Ok(PeerPorts { grpc: free_address(0)?, http: free_address(0)? }))
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(unusable)?;
        let cluster_file = path.join("cluster.yaml");
        std::fs::write(&cluster_file, cluster_text(head, &peers)).map_err(unusable)?;
        let config = ClusterConfig::load(&cluster_file)?;
        let url = Url::parse(&format!("http://{head}")).expect("an address makes a URL");
        Ok(Self { path, cluster_file, head, peers, url, config })
    }

    pub(super) fn catalog_url(&self) -> String {
        format!("sqlite://{}", self.path.join("catalog.db").display())
    }

    pub(super) fn open_storage(&self) -> Result<Storage, DemoError> {
        let id = &self.config.default_storage;
        Ok(open_storage(id, self.config.default_storage_config())?)
    }

    pub(super) fn log(&self, role: &str) -> PathBuf {
        self.path.join("logs").join(format!("{}.log", role.replace(' ', "-")))
    }

    pub(super) fn cache(&self, number: usize) -> PathBuf {
        self.path.join(format!("cache-{number}"))
    }

    /// Returns what a person can do while the demonstration is up.
    pub(super) fn how_to_connect(&self) -> String {
        let url = self.url.as_str().trim_end_matches('/');
        let file = shown(&self.cluster_file);
        format!(
            "\nThe head listens on {url} and speaks ClickHouse's HTTP interface:\n\n  \
             curl '{url}/?query=SELECT+count(*)+FROM+demo.logs'\n  \
             echo 'SELECT status, count(*) FROM demo.logs GROUP BY status' | curl '{url}/' --data-binary @-\n  \
             peerage query --url {url} 'SELECT * FROM demo.logs LIMIT 3'\n  \
             peerage load --cluster {file} --table demo.mine --timestamp ts FILE\n\n\
             Any ClickHouse HTTP client works with host {}, port {}, user default, no password.\n\
             Metrics: {url}/metrics. Logs: {}\n\nCtrl-C stops everything.",
            self.head.ip(),
            self.head.port(),
            shown(&self.path.join("logs"))
        )
    }
}

fn shown(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let relative = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
    relative.unwrap_or(path).display().to_string()
}

/// Returns a free address of this machine: the wanted port if it is free, else any.
fn free_address(port: u16) -> std::io::Result<SocketAddr> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    bind(port).or_else(|_taken| bind(0))?.local_addr()
}

fn cluster_text(head: SocketAddr, peers: &[PeerPorts]) -> String {
    let members: Vec<_> = peers.iter().map(|peer| format!("\"{}\"", peer.grpc)).collect();
    format!(
        "# Written by `peerage demo` at each start.\nversion: 1\ncatalog:\n  url: \"sqlite://./catalog.db\"\n\
         storages:\n  main:\n    url: \"file://./data\"\ndefault_storage: main\nhead:\n  http: \"{head}\"\n\
         membership:\n  static: [{}]\n",
        members.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cluster_file_is_a_valid_one() {
        let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let peers = [PeerPorts { grpc: address(4000), http: address(4001) }];
        let text = cluster_text(address(8123), &peers);
        let config =
            ClusterConfig::parse(&text, "cluster.yaml", Path::new("/demo")).expect("valid");
        assert_eq!(config.head.http, address(8123));
    }
}
