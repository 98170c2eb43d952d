//! What an account may see: the decision that every read of rows and every cache key needs.
//!
//! Invariant: neither type can be made outside this crate but through [`Accounts::decide`]. Left
//! out: roles, grants, row and column policies; there are none yet, and the fingerprint is that of
//! "no policy".

use std::fmt;

use xxhash_rust::xxh3::xxh3_128;

use crate::{Account, Accounts};

/// What stands for the absence of any policy. Its hash may be in stored keys: never change it.
const NO_POLICY: &[u8] = b"peerage policy v1: none";

/// Identifies the policies in effect: xxh3-128 of their canonical text.
///
/// Two decisions with the same fingerprint show the same rows and columns. Every cache of anything
/// that was made from rows holds it in its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyFingerprint(u128);

impl PolicyFingerprint {
    fn of_no_policy() -> Self {
        Self(xxh3_128(NO_POLICY))
    }

    /// Returns the fingerprint as the bytes that go into keys and onto the wire.
    pub fn to_le_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

impl fmt::Display for PolicyFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What one account may see in one query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    account: Account,
    fingerprint: PolicyFingerprint,
}

impl Decision {
    /// Returns the account that the decision is about.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Returns the fingerprint of the policies that apply.
    pub fn fingerprint(&self) -> PolicyFingerprint {
        self.fingerprint
    }
}

impl Accounts {
    /// Decides what the account may see; asked once for each query, so that a change of policies
    /// holds from the next query on.
    pub fn decide(&self, account: &Account) -> Decision {
        Decision { account: account.clone(), fingerprint: PolicyFingerprint::of_no_policy() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_of_no_policy_never_changes() {
        let account = Accounts.authenticate(None, None).expect("default");
        let decision = Accounts.decide(&account);
        assert_eq!(decision.account().name(), "default");
        assert_eq!(decision.fingerprint().to_string(), "a5a8aa10257fc04c12106c1860797d74");
        assert_eq!(decision, Accounts.decide(&account));
    }

    #[test]
    fn text_and_bytes_show_the_same_number() {
        let fingerprint = PolicyFingerprint(0x0123);
        assert_eq!(fingerprint.to_string(), "00000000000000000000000000000123");
        assert_eq!(fingerprint.to_le_bytes()[..2], [0x23, 0x01]);
    }
}
