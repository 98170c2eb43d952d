//! The one binary that people install: loading and looking at data, and every role of the system.
//!
//! This library holds the commands; `main.rs` only parses the command line and prints how a command
//! ended. Each command is a module with its arguments and a `run`; what it does in detail lies in the
//! rooms below (catalog, partition, peer, head). Invariant: only this crate reads the command line.

pub mod args;
pub mod demo;
pub mod error;
pub mod inspect;
pub mod load;
pub mod open;
pub mod output;
pub mod query;
pub mod table;
