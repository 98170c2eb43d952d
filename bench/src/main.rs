//! `peerage-bench`: the measuring tools, one subcommand each.
//!
//! Every tool prints a table for people, writes its figures with `--json FILE`, and ends with exit
//! code 1 when a bound that it was given does not hold, or an answer is wrong. Invariant: requests
//! and bytes are counted on the wire in front of the object store, never by the program that is
//! measured. Left out: micro benchmarks, which are criterion's (`benches/`).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the tools talk to people")]

mod answer;
mod bounds;
mod client;
mod cluster;
mod dataset;
mod expected;
mod figures;
mod proxy;
mod report;
mod run;
mod store;
mod suite;
mod usage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Measures Peerage: real processes, a real S3 server, requests counted on the wire.
#[derive(Debug, Parser)]
#[command(
    name = "peerage-bench",
    version,
    after_help = "Examples:\n  \
        peerage-bench run --suite logs --rows 2000000\n  \
        peerage-bench run --suite logs --rows 200000 --queries q1,q4 --rounds 1\n\n\
        Build both programs first, in the profile that is to be measured:\n  \
        cargo build --release -p peerage -p peerage-bench"
)]
struct Bench {
    #[command(subcommand)]
    tool: Tool,
}

/// The tools. One that is added here gets its own module with its arguments and a `run`.
#[derive(Debug, Subcommand)]
enum Tool {
    /// Run the queries of a suite over head, peers and a counted store: cold, warm, restarted
    Run(run::RunArgs),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Bench { tool } = Bench::parse();
    let ended = match tool {
        // Dropped by Ctrl-C, which ends its processes.
        Tool::Run(args) => tokio::select! {
            ended = Box::pin(args.run()) => ended,
            _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
        },
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_tool_has_help_and_examples() {
        let mut command = Bench::command();
        command.build();
        command.clone().debug_assert();
        for tool in command.get_subcommands().filter(|tool| tool.get_name() != "help") {
            let help = tool.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{} has no examples", tool.get_name());
            for flag in tool.get_arguments() {
                assert!(flag.get_help().is_some(), "--{} has no help", flag.get_id());
            }
        }
    }
}
