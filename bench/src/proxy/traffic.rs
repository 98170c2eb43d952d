//! Counting what passes the proxy.
//!
//! Invariant: a request is counted when its head has come, its bytes when they have come from the
//! server, and it is under way until its answer has gone out or broken off.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use serde::Serialize;
use tokio::sync::Notify;

/// The first status that tells of a failure.
const FIRST_FAILURE: u16 = 400;

/// What passed between two looks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Traffic {
    /// Requests by method.
    pub(crate) methods: BTreeMap<&'static str, u64>,
    /// Requests that were answered with an error status, or whose answer broke off.
    pub(crate) failures: u64,
    /// Bytes of the answers' bodies, as far as they came from the server.
    pub(crate) bytes: u64,
    /// The most requests that followed one another, each begun after the one before had ended: no
    /// chain of requests that depended on each other was longer.
    pub(crate) round_trips: u64,
}

impl Traffic {
    /// Returns the number of all requests.
    pub(crate) fn requests(&self) -> u64 {
        self.methods.values().sum()
    }
}

/// The counters of one proxy.
#[derive(Debug, Default)]
pub(super) struct Counters {
    state: Mutex<State>,
    idle: Notify,
}

#[derive(Debug, Default)]
struct State {
    traffic: Traffic,
    under_way: usize,
    chain: Chain,
}

/// The end of the longest chain of requests that followed one another.
#[derive(Debug, Default)]
pub(super) struct Chain(Option<Instant>);

impl Chain {
    /// Takes a request that has ended, in the order of the ends, and returns whether the chain grew:
    /// to take each request that began after the end of the last one taken gives the longest.
    pub(super) fn grows(&mut self, started: Instant, ended: Instant) -> bool {
        let follows = self.0.is_none_or(|end| started >= end);
        if follows {
            self.0 = Some(ended);
        }
        follows
    }
}

impl Counters {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics")
    }

    /// Begins to count from zero.
    pub(super) fn reset(&self) {
        let mut state = self.state();
        state.traffic = Traffic::default();
        state.chain = Chain::default();
    }

    /// Waits until no request is under way; returns what passed.
    pub(super) async fn settle(&self) -> Traffic {
        loop {
            // Made before the look, so that no end after it is missed.
            let idle = self.idle.notified();
            {
                let state = self.state();
                if state.under_way == 0 {
                    return state.traffic.clone();
                }
            }
            idle.await;
        }
    }

    /// Counts a request.
    pub(super) fn begin(self: &Arc<Self>, method: &'static str) -> Ticket {
        let mut state = self.state();
        *state.traffic.methods.entry(method).or_default() += 1;
        state.under_way += 1;
        drop(state);
        Ticket { counters: Arc::clone(self), started: Instant::now(), is_good: false }
    }

    fn end(&self, started: Instant, is_good: bool) {
        let mut state = self.state();
        state.under_way = state.under_way.saturating_sub(1);
        if !is_good {
            state.traffic.failures += 1;
        }
        if state.chain.grows(started, Instant::now()) {
            state.traffic.round_trips += 1;
        }
        if state.under_way == 0 {
            self.idle.notify_waiters();
        }
    }
}

/// A request under way; dropping it ends it.
#[derive(Debug)]
pub(super) struct Ticket {
    counters: Arc<Counters>,
    started: Instant,
    is_good: bool,
}

impl Ticket {
    /// Counts bytes of the answer.
    pub(super) fn add_bytes(&mut self, bytes: u64) {
        self.counters.state().traffic.bytes += bytes;
    }

    /// Ends the request after its whole answer.
    pub(super) fn finish(mut self, status: u16) {
        self.is_good = status < FIRST_FAILURE;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.counters.end(self.started, self.is_good);
    }
}
