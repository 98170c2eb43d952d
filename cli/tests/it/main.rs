//! The commands as a user calls them, in process, on temporary folders.

mod cluster;
mod demo;
mod fixture;
mod grpc;
mod http;
mod load;
mod membership;
mod parquet_testing;
mod process;
mod requests;
mod s3;
mod sql;
mod tables;
mod tidy;
