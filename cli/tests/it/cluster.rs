//! A cluster in this process: peers and a head over loaded tables, on real sockets.
//!
//! Membership is a `pods.txt`, so that tests can add peers and take them away. Each peer has a
//! runtime of its own; shutting that down breaks its connections off, as killing a process does.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::ipc::reader::StreamReader;
use peerage::load::{
    self, InputOptions, LoadOptions, LoadRequest, LoadSource, SilentProgress, find_inputs,
};
use peerage_catalog::Catalog;
use peerage_cluster::{ClusterConfig, Membership};
use peerage_head::HeadServer;
use peerage_peer::PeerServer;
use peerage_peer::store::open_storage;
use peerage_testdata::tables::TableFile;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Rows of a partition in tests: small tables still get several partitions.
const PARTITION_ROWS: usize = 20_000;
/// A change of the membership is seen within this time, or the test fails.
const MEMBERSHIP_TIMEOUT: Duration = Duration::from_secs(15);

/// A folder with catalog and data, from which clusters can be started.
pub(crate) struct LoadedTables {
    pub(crate) folder: TempDir,
    storage: String,
}

impl LoadedTables {
    /// Loads tables into a local storage.
    pub(crate) async fn load(tables: &[TableFile]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let loaded = Self { folder, storage: "url: \"file://./data\"".to_owned() };
        loaded.load_more(tables, PARTITION_ROWS).await;
        loaded
    }

    /// Loads tables into the storage that `storage` describes, as in a cluster file.
    pub(crate) async fn load_into(storage: String, tables: &[TableFile]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let loaded = Self { folder, storage };
        loaded.load_more(tables, PARTITION_ROWS).await;
        loaded
    }

    /// Loads more tables.
    pub(crate) async fn load_more(&self, tables: &[TableFile], partition_rows: usize) {
        let config = self.config(&[], "unused");
        let catalog = self.catalog().await;
        let storage = open_storage("main", config.default_storage_config()).expect("opens");
        for table in tables {
            let path = table.file.display().to_string();
            let inputs = find_inputs(&[path], &InputOptions::default()).await.expect("found");
            let request = LoadRequest {
                catalog: catalog.clone(),
                storage: storage.clone(),
                database: table.schema.to_owned(),
                table: table.table.to_owned(),
                source: LoadSource::Inputs(inputs),
                options: LoadOptions {
                    timestamp: table.timestamp.map(str::to_owned),
                    partition_rows: partition_rows.try_into().expect("not zero"),
                    ..LoadOptions::default()
                },
            };
            load::run(request, &SilentProgress).await.expect("loads");
        }
    }

    pub(crate) async fn catalog(&self) -> Catalog {
        let path = self.folder.path().join("catalog.db");
        Catalog::open(&format!("sqlite://{}", path.display())).await.expect("opens")
    }

    fn pods_file(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.pods.txt"))
    }

    /// Returns the configuration of a process; all ports are chosen by the system.
    fn config(&self, peer: &[usize], name: &str) -> ClusterConfig {
        let cache = match peer {
            [number] => format!("cache-{name}-{number}"),
            _ => "cache".to_owned(),
        };
        let text = format!(
            "version: 1\ncatalog: {{ url: \"sqlite://./catalog.db\" }}\nstorages:\n  main: {{ {} }}\n\
             default_storage: main\nhead: {{ http: \"127.0.0.1:0\" }}\npeer: {{ grpc: \"127.0.0.1:0\", \
             http: \"127.0.0.1:0\", cache: {{ path: \"./{cache}\" }} }}\nmembership: {{ pods_file: \
             \"./{name}.pods.txt\", poll_interval: 100ms }}\n",
            self.storage
        );
        ClusterConfig::parse(&text, "cluster.yaml", self.folder.path())
            .expect("a valid cluster file")
    }
}

struct RunningPeer {
    address: SocketAddr,
    /// Taken when the peer is killed.
    runtime: Option<Runtime>,
}

impl Drop for RunningPeer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A head and its peers.
pub(crate) struct TestCluster {
    tables: Arc<LoadedTables>,
    name: String,
    peers: Vec<RunningPeer>,
    next_number: usize,
    pub(crate) head: SocketAddr,
    head_task: JoinHandle<()>,
    _membership: Arc<Membership>,
}

/// An answer of the head.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl HttpAnswer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns a count of `X-Peerage-Statistics`.
    pub(crate) fn count(&self, name: &str) -> u64 {
        let header = self.headers.get("x-peerage-statistics").expect("statistics are sent");
        let statistics: Value = serde_json::from_slice(header.as_bytes()).expect("JSON");
        assert_eq!(statistics["is_complete"], true, "{statistics}");
        statistics[name].as_u64().expect("a count of that name")
    }

    pub(crate) fn batches(&self) -> Vec<RecordBatch> {
        if self.body.is_empty() {
            return Vec::new();
        }
        let reader = StreamReader::try_new(self.body.as_slice(), None).expect("an Arrow stream");
        reader.collect::<Result<_, _>>().expect("whole batches")
    }
}

impl TestCluster {
    /// Starts a head over `peer_count` new peers, whose caches are empty unless a cluster of this
    /// name ran before.
    pub(crate) async fn start(tables: &Arc<LoadedTables>, name: &str, peer_count: usize) -> Self {
        let tables = Arc::clone(tables);
        std::fs::write(tables.pods_file(name), "[]").expect("written");
        let config = tables.config(&[], name);
        let membership = Arc::new(Membership::start(&config.membership).await);
        let head = HeadServer::bind(&config, Arc::clone(&membership), None).await.expect("binds");
        let address = head.http_address().expect("bound");
        let head_task = tokio::spawn(async move {
            head.serve(CancellationToken::new()).await.expect("serves");
        });
        let mut cluster = Self {
            tables,
            name: name.to_owned(),
            peers: Vec::new(),
            next_number: 0,
            head: address,
            head_task,
            _membership: membership,
        };
        for _ in 0..peer_count {
            cluster.start_peer().await;
        }
        cluster.publish().await;
        cluster
    }

    async fn start_peer(&mut self) {
        let config = self.tables.config(&[self.next_number], &self.name);
        self.next_number += 1;
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("starts");
        let (bound, address) = tokio::sync::oneshot::channel();
        runtime.spawn(async move {
            let server = PeerServer::bind(&config, None).await.expect("binds");
            bound.send(server.grpc_address().expect("bound")).expect("is awaited");
            server.serve(CancellationToken::new()).await.expect("serves");
        });
        let address = address.await.expect("binds");
        self.peers.push(RunningPeer { address, runtime: Some(runtime) });
    }

    /// Adds a peer and waits until the head knows it.
    pub(crate) async fn add_peer(&mut self) {
        self.start_peer().await;
        self.publish().await;
    }

    /// Kills a peer without telling anybody.
    pub(crate) fn kill_peer(&mut self, position: usize) {
        drop(self.peers.remove(position));
    }

    /// Returns the gRPC address of a peer.
    pub(crate) fn peer_address(&self, position: usize) -> SocketAddr {
        self.peers[position].address
    }

    /// Writes the list of peers and waits until the head works with it.
    pub(crate) async fn publish(&self) {
        let pods: Vec<Value> = self
            .peers
            .iter()
            .map(|peer| {
                serde_json::json!({"ip": peer.address.ip().to_string(), "port": peer.address.port(),
                    "cpus": 2, "type": "peer"})
            })
            .collect();
        let file = self.tables.pods_file(&self.name);
        let temporary = file.with_extension("tmp");
        std::fs::write(&temporary, Value::from(pods).to_string()).expect("written");
        std::fs::rename(temporary, file).expect("renamed");
        let wanted = u64::try_from(self.peers.len()).expect("small");
        let sees_all = async {
            loop {
                let answer = self.query("SELECT 1", "TSV").await;
                let sees = |name| answer.count(name) == wanted;
                if answer.status == 200 && sees("peers") && sees("peers_described") {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(MEMBERSHIP_TIMEOUT, sees_all).await.expect("the head sees the change");
    }

    /// Asks the head.
    pub(crate) async fn query(&self, sql: &str, format: &str) -> HttpAnswer {
        self.request(
            reqwest::Method::POST,
            &format!("/?wait_end_of_query=1&default_format={format}"),
            sql,
        )
        .await
    }

    /// Sends any request to the head.
    pub(crate) async fn request(
        &self,
        method: reqwest::Method,
        target: &str,
        body: &str,
    ) -> HttpAnswer {
        let url = format!("http://{}{target}", self.head);
        let request = reqwest::Client::new().request(method, url).body(body.to_owned());
        let response = request.send().await.expect("the head answers");
        HttpAnswer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.bytes().await.expect("a whole answer").to_vec(),
        }
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        self.head_task.abort();
    }
}

/// Returns the tables of the SQL scripts, the generated ones written into `folder`.
pub(crate) fn script_tables(folder: &Path) -> Vec<TableFile> {
    let mut tables = peerage_testdata::tables::checked_in();
    tables.extend(peerage_testdata::tables::generate_into(folder).expect("generated"));
    tables
}
