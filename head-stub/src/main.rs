//! The query head alone; `peerage head` is the same.

use clap::Parser;
use peerage_head::HeadArgs;

/// Query head of Peerage.
#[derive(Debug, Parser)]
#[command(name = "peerage-head", version, about)]
struct Cli {
    #[command(flatten)]
    args: HeadArgs,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    Ok(peerage_head::run(Cli::parse().args).await?)
}
