//! The options of `wardian runs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::examples;
use crate::cli::server_option::ServerOption;

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, the newest first.
    #[command(after_help = examples::LIST_RUNS)]
    List(ListArgs),
    /// Show the record of a run.
    #[command(after_help = examples::SHOW_RUN)]
    Show {
        /// The id of the run.
        id: String,
        /// Print the record as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        of: RunOwner,
    },
    /// Write the record of a reproducible run, for `wardian verify`.
    #[command(after_help = examples::RECORD_OF_RUN)]
    Record {
        /// The id of the run.
        id: String,
        /// The file to write; standard output without it.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        of: RunOwner,
    },
    /// Show the runs of a server that go on.
    #[command(after_help = examples::ACTIVE_RUNS)]
    Active {
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Wait for the end of a run, and print its result.
    #[command(after_help = examples::WAIT_FOR_RUN)]
    Wait {
        /// The id of the run.
        id: String,
        /// Print the record with its result as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Cancel a run of a server.
    #[command(after_help = examples::CANCEL_RUN)]
    Cancel {
        /// The id of the run.
        id: String,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Print what a run wrote: its output and log lines, in order.
    #[command(after_help = examples::LOGS)]
    Logs {
        /// The id of the run.
        id: String,
        /// Print the pieces as JSON, each with its stream.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        of: RunOwner,
    },
}

/// The runs that are listed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only runs that ended so: `completed`, `exception`, `timeout`, `fuel_exhausted`,
    /// `memory_limit`, `stack_overflow`, `sandbox_crash`, `cancelled`, `interrupted` or `refused`.
    #[arg(long, value_name = "OUTCOME")]
    pub(crate) outcome: Option<String>,
    /// Only runs of this skill.
    #[arg(long, value_name = "SKILL")]
    pub(crate) skill: Option<String>,
    /// Only runs of this last time, such as `30min`, `2h` or `7d`.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only runs with these words in their title, skill or error.
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// Most runs that are listed.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) limit: usize,
    /// List the runs of all tenants, each with its tenant. A server lists them for keys with the
    /// scope `admin`.
    #[arg(long, conflicts_with = "tenant")]
    pub(crate) all_tenants: bool,
    /// Tenant whose runs are listed [default: local in the data folder of this machine, the key's
    /// tenant on a server]. A server lists those of another tenant for keys with the scope
    /// `admin`.
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// Print the list as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) at: ServerOption,
}

/// Whose runs a command is about.
#[derive(Debug, Args)]
pub(crate) struct RunOwner {
    /// Tenant whose runs are read from the data folder of this machine [default: local]; a server
    /// shows those of the key's tenant.
    #[arg(long, value_name = "TENANT", conflicts_with = "server")]
    pub(crate) tenant: Option<String>,
    #[command(flatten)]
    pub(crate) at: ServerOption,
}
