//! The commands as a user calls them, in process, on temporary folders.

mod cluster;
mod fixture;
mod http;
mod load;
mod membership;
mod parquet_testing;
mod process;
mod requests;
mod sql;
mod tables;
mod tidy;
