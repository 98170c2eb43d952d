//! Tests of the whole format through its public face.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

mod all_types;
mod damage;
mod data_file;
mod golden;
mod prune;
mod statistics;
mod support;
