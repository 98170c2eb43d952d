//! The peers that a query may use: the membership, less those that just failed, with what each says
//! of itself.
//!
//! Peers are asked in the background, so that a query waits for nobody. A peer that was found lost
//! by a query gets no work for a short while, whatever the membership says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use peerage_cluster::{MemberSnapshot, Membership};
use peerage_engine::{PLAN_VERSION, PeerChannels};
use peerage_proto::v1::peer_control_client::PeerControlClient;
use peerage_proto::v1::{DescribeRequest, DescribeResponse};
use tokio::time::Instant;
use tracing::{info, warn};
use url::Url;

/// A lost peer gets no work for this long, or until it answers again.
const SUSPICION: Duration = Duration::from_secs(5);
/// How often peers are asked what they are.
const DESCRIBE_INTERVAL: Duration = Duration::from_secs(5);
/// How long an answer may take.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Peers asked at once.
const DESCRIBES_IN_FLIGHT: usize = 32;

/// What a head knows of its peers.
#[derive(Debug)]
pub(crate) struct Peers {
    membership: Arc<Membership>,
    channels: PeerChannels,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Address → (cache id, cores).
    reported: HashMap<String, (String, u32)>,
    suspected: HashMap<Url, Instant>,
    /// Peers whose plans we cannot write, with their version.
    foreign: HashMap<Url, String>,
}

impl Peers {
    /// Returns the peers of a membership.
    #[must_use]
    pub(crate) fn new(membership: Arc<Membership>, channels: PeerChannels) -> Self {
        Self { membership, channels, known: Mutex::new(Known::default()) }
    }

    /// Returns the peers that a query may use now, without those in `excluded`.
    #[must_use]
    pub(crate) fn usable(&self, excluded: &[Url]) -> MemberSnapshot {
        let members = self.membership.snapshot();
        let mut known = self.known.lock().expect("no holder of this lock panics");
        let now = Instant::now();
        known.suspected.retain(|_, until| *until > now);
        let mut members = members.with_cache_ids(&known.reported);
        let all = members.peers.len();
        let may_use = |url: &Url| {
            !excluded.contains(url)
                && !known.suspected.contains_key(url)
                && !known.foreign.contains_key(url)
        };
        let usable: Vec<_> =
            members.peers.iter().filter(|peer| may_use(&peer.url())).cloned().collect();
        // When every peer is suspected, trying one of them is better than refusing.
        if usable.is_empty() && all > 0 {
            members.peers.retain(|peer| {
                !excluded.contains(&peer.url()) && !known.foreign.contains_key(&peer.url())
            });
        } else {
            members.peers = usable;
        }
        members
    }

    /// Returns true when the membership has a peer at this address.
    #[must_use]
    pub(crate) fn is_member(&self, url: &Url) -> bool {
        self.membership.snapshot().peers.iter().any(|peer| peer.url() == *url)
    }

    /// Notes that a query found a peer lost, unless the peer answers when it is asked.
    pub(crate) async fn suspect_if_silent(&self, url: &Url) {
        if self.describe(url).await.is_some() {
            info!(peer = %url, "a query lost the peer, but it answers");
            return;
        }
        warn!(peer = %url, "peer lost; it gets no work for {}s", SUSPICION.as_secs());
        let until = Instant::now() + SUSPICION;
        self.known
            .lock()
            .expect("no holder of this lock panics")
            .suspected
            .insert(url.clone(), until);
    }

    /// Asks the peers what they are, again and again, until dropped.
    pub(crate) async fn keep_describing(&self) {
        let mut changes = self.membership.subscribe();
        loop {
            self.describe_all().await;
            tokio::select! {
                () = tokio::time::sleep(DESCRIBE_INTERVAL) => {}
                changed = changes.changed() => {
                    if changed.is_err() {
                        tokio::time::sleep(DESCRIBE_INTERVAL).await;
                    }
                }
            }
        }
    }

    /// Asks every member once.
    pub(crate) async fn describe_all(&self) {
        let members = self.membership.snapshot();
        futures::stream::iter(
            members.peers.iter().map(|peer| (peer.address().clone(), peer.url())),
        )
        .for_each_concurrent(DESCRIBES_IN_FLIGHT, |(address, url)| async move {
            if let Some(description) = self.describe(&url).await {
                self.learn(address.as_str(), &url, description);
            }
        })
        .await;
    }

    async fn describe(&self, url: &Url) -> Option<DescribeResponse> {
        let channel = self.channels.channel(url).ok()?;
        let mut client = PeerControlClient::new(channel);
        let answer = client.describe(DescribeRequest {});
        let answer = tokio::time::timeout(DESCRIBE_TIMEOUT, answer).await.ok()?;
        answer.ok().map(tonic::Response::into_inner)
    }

    fn learn(&self, address: &str, url: &Url, description: DescribeResponse) {
        let mut known = self.known.lock().expect("no holder of this lock panics");
        if description.plan_version == PLAN_VERSION {
            known.foreign.remove(url);
        } else {
            let version = description.plan_version;
            if known.foreign.insert(url.clone(), version.clone()).as_ref() != Some(&version) {
                warn!(
                    peer = address,
                    version,
                    ours = PLAN_VERSION,
                    "peer of another plan version; it gets no work"
                );
            }
            return;
        }
        if known.suspected.remove(url).is_some() {
            info!(peer = address, "peer answers again");
        }
        let identity = (description.cache_id, description.cores);
        if known.reported.insert(address.to_owned(), identity.clone()).as_ref() != Some(&identity) {
            info!(
                peer = address,
                cache_id = identity.0,
                cores = identity.1,
                "peer described itself"
            );
        }
    }
}
