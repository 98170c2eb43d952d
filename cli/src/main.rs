//! `peerage`: parses the command line, runs one command, prints how it ended.
//!
//! Invariant: errors are one line on standard error, "error: what: caused by why; try this". Exit
//! code 0 is success, 1 an error, 2 a wrong command line, 130 an interrupt.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use peerage::args::{Cli, Command};
use peerage::error::{CommandError, report};
use peerage::output::print;
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// What a shell reports for a program that Ctrl-C ended.
const EXIT_INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report(&CommandError::runtime(error)),
    };
    let ended = runtime.block_on(run_until_interrupted(cli.command));
    // Work that nobody waits for any more must not hold up the exit.
    runtime.shutdown_background();
    match ended {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => report(&error),
        None => {
            // Nothing more can be done if standard error is closed too.
            drop(writeln!(std::io::stderr(), "interrupted"));
            ExitCode::from(EXIT_INTERRUPTED)
        }
    }
}

/// Runs a command. The roles and the demonstration end by themselves when they are asked to; the
/// other commands are cut off by Ctrl-C, which is safe because each changes the catalog in one
/// transaction.
async fn run_until_interrupted(command: Command) -> Option<Result<(), CommandError>> {
    let command = match command {
        Command::Peer(args) => return Some(peerage_peer::run(args).await.map_err(Into::into)),
        Command::Head(args) => return Some(peerage_head::run(args).await.map_err(Into::into)),
        Command::Demo(args) => return Some(Box::pin(args.run()).await.map_err(Into::into)),
        other => other,
    };
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        ended = Box::pin(run(command)) => Some(ended),
        () = interrupt => None,
    }
}

/// Runs a command.
async fn run(command: Command) -> Result<(), CommandError> {
    // Warnings of the libraries only, unless the user asks for more: results go to standard output.
    let filter = EnvFilter::try_from_env("PEERAGE_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match command {
        Command::Load(args) => print(&args.run().await?.to_string()),
        Command::Table(args) => print(&args.run().await?),
        Command::Inspect(args) => print(&args.run().await?),
        Command::Query(args) => Ok(args.run().await?),
        Command::Peer(_) | Command::Head(_) | Command::Demo(_) => Ok(()),
    }
}
