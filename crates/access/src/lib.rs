//! Accounts and what they may see. Pure: no I/O, no clock, no state.
//!
//! The way in has two steps. [`Accounts::authenticate`] answers *who* asks; [`Accounts::decide`]
//! answers *what they may see*, anew for each query. Whoever reads rows or keeps a result asks for
//! a [`Decision`], so that neither step can be left out.
//!
//! Invariants: an [`Account`] exists only after its credentials were checked; a [`Decision`] exists
//! only for an account; every cache key holds the decision's [`PolicyFingerprint`], so that no
//! account is served from what another one may see.
//!
//! Today there is one account, `default`, without a password, and no policy.

mod account;
mod decision;

pub use account::{ACCOUNT_NAME_SHOWN_MAX, AccessError, Account, Accounts, DEFAULT_ACCOUNT};
pub use decision::{Decision, PolicyFingerprint};
