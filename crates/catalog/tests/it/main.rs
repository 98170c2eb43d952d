//! The catalog as its users see it, on a real file in a temporary folder.

mod fixture;
mod pruning;
mod snapshots;
mod tables;
