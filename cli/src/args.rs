//! The command line: which commands there are, and what they share.
//!
//! Every flag can also be set by an environment variable, which the help text names. A flag on the
//! command line wins.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};

use peerage_head::HeadArgs;
use peerage_peer::PeerArgs;

use crate::demo::DemoArgs;
use crate::inspect::InspectArgs;
use crate::load::LoadArgs;
use crate::query::QueryArgs;
use crate::table::TableArgs;

/// What stands below the list of commands.
const EXAMPLES: &str = "\
Examples:
  peerage demo
  peerage load --table web.requests --timestamp ts requests.csv.gz
  peerage query 'SELECT count(*) FROM web.requests'
  peerage table list
  peerage inspect web.requests/1431857103000-1431943503000-01ARZ3NDEKTSV4RRFFQ69G5FAV

Commands that need one read the cluster file: --cluster, PEERAGE_CLUSTER, or cluster.yaml in this folder.";

/// Stateless query peers over immutable partitions in object storage.
#[derive(Debug, Parser)]
#[command(name = "peerage", version, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands. A command that is added here gets its own module with its arguments and a `run`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load Parquet, CSV or NDJSON into a table
    Load(Box<LoadArgs>),
    /// List, show, create and drop tables
    Table(TableArgs),
    /// Show what is in a partition or one of its files
    Inspect(InspectArgs),
    /// Ask a head and show the answer
    Query(QueryArgs),
    /// Try everything on this machine: data, three peers, a head, five questions
    Demo(DemoArgs),
    /// Run a query peer
    Peer(PeerArgs),
    /// Run a query head
    Head(HeadArgs),
}

/// Where the cluster file is.
#[derive(Args, Clone, Debug)]
pub struct ClusterArgs {
    /// The cluster file
    #[arg(long, env = "PEERAGE_CLUSTER", value_name = "FILE", default_value = "cluster.yaml")]
    pub cluster: PathBuf,
}

/// `database.table`, as it is written on the command line. Whether the names are valid is for the
/// catalog to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QualifiedTable {
    /// The database.
    pub database: String,
    /// The table within it.
    pub name: String,
}

impl FromStr for QualifiedTable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('.') {
            Some((database, name)) if !database.is_empty() && !name.is_empty() => {
                Ok(Self { database: database.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!("'{text}' is not database.table")),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Each command and each flag can be understood from its help and set from the environment.
    #[test]
    fn every_command_has_examples_and_every_flag_a_variable() {
        fn check(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            if command.get_subcommands().next().is_none() {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains("Example"), "{path} has no examples");
            }
            for flag in command.get_arguments().filter(|argument| argument.get_long().is_some()) {
                let name = flag.get_id().as_str();
                assert!(flag.get_help().is_some(), "{path} --{name} has no help");
                let is_builtin = matches!(name, "help" | "version");
                assert!(is_builtin || flag.get_env().is_some(), "{path} --{name} has no variable");
            }
            for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
                check(inner, &path);
            }
        }
        let mut command = Cli::command();
        command.build();
        check(&command, "");
    }

    #[test]
    fn tables_are_named_with_their_database() {
        let table: QualifiedTable = "web.requests".parse().expect("valid");
        assert_eq!((table.database.as_str(), table.name.as_str()), ("web", "requests"));
        for text in ["requests", ".requests", "web.", ""] {
            assert!(text.parse::<QualifiedTable>().is_err(), "{text}");
        }
    }
}
