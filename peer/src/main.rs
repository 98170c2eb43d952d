//! The query peer alone; `peerage peer` is the same.

use clap::Parser;
use peerage_peer::PeerArgs;

/// Query peer of Peerage.
#[derive(Debug, Parser)]
#[command(name = "peerage-peer", version, about)]
struct Cli {
    #[command(flatten)]
    args: PeerArgs,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    Ok(peerage_peer::run(Cli::parse().args).await?)
}
