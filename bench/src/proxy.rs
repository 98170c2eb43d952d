//! A reverse proxy in front of the object store that counts what passes, and delays it where asked.
//!
//! Each client connection has one connection to the server, and one request at a time goes through
//! it. Invariant: heads and bodies pass byte for byte, the `Host` header too, so that signatures stay
//! valid. Left out: TLS, upgrades, `Expect`, and requests that overlap on one connection, none of
//! which the readers of an object store use.

mod traffic;
mod wire;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

pub(crate) use traffic::Traffic;
use traffic::{Counters, Ticket};
use wire::{Incoming, RequestHead, ResponseHead};

/// After an answer, requests that nobody waits for any more get this long to end.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);

/// A connection that cannot go on.
#[derive(Debug, Error)]
enum ProxyError {
    /// A side went away; the other one is told by the end of its connection.
    #[error("a connection broke off")]
    Connection(#[from] io::Error),
    /// What came is not HTTP/1.1 as it is understood here.
    #[error("unexpected HTTP: {what}")]
    Http {
        /// What is wrong.
        what: &'static str,
    },
}

/// A running proxy. Dropping it ends all connections.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    counters: Arc<Counters>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy in front of `upstream` on a free port of this machine. Each request waits for
    /// `delay` before it is passed on.
    pub(crate) async fn start(upstream: SocketAddr, delay: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let counters = Arc::new(Counters::default());
        let route = Route { upstream, delay, counters: Arc::clone(&counters) };
        let accepting = tokio::spawn(accept(listener, route));
        Ok(Self { address, counters, accepting })
    }

    /// Returns where the proxy listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins to count from zero.
    pub(crate) fn reset(&self) {
        self.counters.reset();
    }

    /// Waits until no request is under way and returns what passed since the last reset, or `None`
    /// when requests do not end.
    pub(crate) async fn settle(&self) -> Option<Traffic> {
        tokio::time::timeout(SETTLE_TIMEOUT, self.counters.settle()).await.ok()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Where requests go, and how.
#[derive(Debug, Clone)]
struct Route {
    upstream: SocketAddr,
    delay: Duration,
    counters: Arc<Counters>,
}

/// Takes connections until it is aborted; the connections end with it.
async fn accept(listener: TcpListener, route: Route) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A connection that broke off before it was taken is the client's to repeat.
                if let Ok((client, _)) = accepted {
                    connections.spawn(serve_and_report(client, route.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve_and_report(client: TcpStream, route: Route) {
    match serve(client, &route).await {
        // Readers drop connections whenever a query has what it wants.
        Ok(()) | Err(ProxyError::Connection(_)) => {}
        Err(error @ ProxyError::Http { .. }) => eprintln!("proxy: {error}"),
    }
}

/// Passes requests and answers of one connection until one side ends it.
async fn serve(client: TcpStream, route: &Route) -> Result<(), ProxyError> {
    let server = TcpStream::connect(route.upstream).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, mut to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let (mut requests, mut answers) = (Incoming::new(from_client), Incoming::new(from_server));
    while let Some(head) = requests.head().await? {
        let request = RequestHead::parse(&head)?;
        let ticket = route.counters.begin(request.method);
        if !route.delay.is_zero() {
            tokio::time::sleep(route.delay).await;
        }
        to_server.write_all(&head).await?;
        requests.pass_body(request.body, &mut to_server, |_| {}).await?;
        if !answer(&request, &mut answers, &mut to_client, ticket).await? {
            break;
        }
    }
    Ok(())
}

/// Passes one answer. Returns whether another request may follow.
async fn answer(
    request: &RequestHead,
    answers: &mut Incoming<impl AsyncRead + Unpin>,
    to_client: &mut (impl AsyncWrite + Unpin),
    mut ticket: Ticket,
) -> Result<bool, ProxyError> {
    loop {
        let broken_off = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let head = answers.head().await?.ok_or_else(broken_off)?;
        let response = ResponseHead::parse(&head, request)?;
        to_client.write_all(&head).await?;
        if response.is_interim() {
            continue;
        }
        answers.pass_body(response.body, to_client, |bytes| ticket.add_bytes(bytes)).await?;
        ticket.finish(response.status);
        return Ok(request.is_kept_alive && response.is_kept_alive);
    }
}

#[cfg(test)]
mod tests;
