//! The `message` column: five templates, each with a 16-digit hexadecimal `key=`.
//!
//! Invariant: 60 to 200 characters, and a key is unique to its row. Only rows that failed
//! upstream can hold the rare phrase "Connection reset by peer".

use super::pool::{push_hex, push_number};
use super::random::below;
use Part::{Key, Number, Text};

/// Share of the failed rows (0.4 % of all) that hold the rare phrase: 0.04 % of all rows.
const RESET_SHARE_PERCENT: u32 = 10;

/// What a message depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) status: i16,
    pub(super) cache_status: &'static str,
    pub(super) key: u64,
    pub(super) draw: u64,
}

/// Appends the message of this event.
pub(super) fn push_message(text: &mut String, event: Event) {
    let number = |shift: u32, bound: u32| u64::from(below(event.draw << shift, bound));
    let template: &[Part] = match (event.status, event.cache_status) {
        (500.., _) if number(40, 100) < u64::from(RESET_SHARE_PERCENT) => RESET,
        (500.., _) => FAILED,
        (400.., _) => REFUSED,
        (_, "HIT") => HIT,
        (_, "EXPIRED" | "REVALIDATED" | "STALE") => STALE,
        (_, _) => MISS,
    };
    for part in template {
        match *part {
            Text(words) => text.push_str(words),
            Key => push_hex(text, event.key, 16),
            Number { shift, bound } => push_number(text, number(shift, bound)),
        }
    }
}

/// A piece of a template.
enum Part {
    Text(&'static str),
    Key,
    /// A number below the bound, from the bits of the draw that begin at the shift.
    Number {
        shift: u32,
        bound: u32,
    },
}

const HIT: &[Part] = &[
    Text("cache hit key="),
    Key,
    Text(" object served from memory, age "),
    Number { shift: 0, bound: 86_400 },
    Text(" s, looked up in "),
    Number { shift: 20, bound: 900 },
    Text(" us"),
];

const MISS: &[Part] = &[
    Text("cache miss key="),
    Key,
    Text(" fetched from origin in "),
    Number { shift: 20, bound: 2_000 },
    Text(" ms and stored with a lifetime of "),
    Number { shift: 0, bound: 86_400 },
    Text(" s"),
];

const STALE: &[Part] = &[
    Text("stale object key="),
    Key,
    Text(" asked origin again after "),
    Number { shift: 0, bound: 86_400 },
    Text(" s: not modified, answered in "),
    Number { shift: 20, bound: 2_000 },
    Text(" ms"),
];

const REFUSED: &[Part] = &[
    Text("request refused key="),
    Key,
    Text(" by rule "),
    Number { shift: 0, bound: 5_000 },
    Text(" after "),
    Number { shift: 20, bound: 900 },
    Text(" us: the client is not entitled to this object"),
];

const FAILED: &[Part] = &[
    Text("upstream failed key="),
    Key,
    Text(" timed out while reading the response header after "),
    Number { shift: 0, bound: 60_000 },
    Text(" ms, retried "),
    Number { shift: 20, bound: 3 },
    Text(" times, no stale object to serve"),
];

const RESET: &[Part] = &[
    Text("upstream failed key="),
    Key,
    Text(" recv() failed (104: Connection reset by peer) after "),
    Number { shift: 0, bound: 60_000 },
    Text(" ms, retried "),
    Number { shift: 20, bound: 3 },
    Text(" times, no stale object to serve"),
];
