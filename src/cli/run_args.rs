//! The options of `wardian runs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::examples;
use crate::cli::server_option::ServerOption;

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, newest first.
    #[command(after_help = examples::LIST_RUNS)]
    List(ListArgs),
    /// Show the record of a run.
    #[command(after_help = examples::SHOW_RUN)]
    Show {
        /// Id of the run.
        id: String,
        /// Print the record as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        of: RunOwner,
    },
    /// Write the document of a reproducible run, for `wardian verify`.
    #[command(visible_alias = "record", after_help = examples::RUN_DOCUMENT)]
    Document {
        /// Id of the run.
        id: String,
        /// File to write [default: standard output].
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        of: RunOwner,
    },
    /// Show the runs in progress on a server.
    #[command(after_help = examples::ACTIVE_RUNS)]
    Active {
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Wait for a run to end, and print its result.
    #[command(after_help = examples::WAIT_FOR_RUN)]
    Wait {
        /// Id of the run.
        id: String,
        /// Print the record and its result as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Cancel a run of a server.
    #[command(after_help = examples::CANCEL_RUN)]
    Cancel {
        /// Id of the run.
        id: String,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Print the output and log lines of a run, in order.
    #[command(after_help = examples::LOGS)]
    Logs {
        /// Id of the run.
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
    /// Only runs with this outcome: `completed`, `exception`, `timeout`, `fuel_exhausted`,
    /// `memory_limit`, `stack_overflow`, `sandbox_crash`, `cancelled`, `interrupted` or `refused`.
    #[arg(long, value_name = "OUTCOME")]
    pub(crate) outcome: Option<String>,
    /// Only runs of this skill.
    #[arg(long, value_name = "SKILL")]
    pub(crate) skill: Option<String>,
    /// Only runs of this recent period, such as `30min`, `2h` or `7d`.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only runs with this text in their title, skill or error.
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// Maximum number of runs to list.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) limit: usize,
    /// List the runs of all tenants, each with its tenant. On a server this needs a key with the
    /// scope `admin`.
    #[arg(long, conflicts_with = "tenant")]
    pub(crate) all_tenants: bool,
    /// Tenant whose runs are listed [default: local in the data folder of this machine, the key's
    /// tenant on a server]. On a server another tenant needs a key with the scope `admin`.
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
    /// shows the runs of the key's tenant.
    #[arg(long, value_name = "TENANT", conflicts_with = "server")]
    pub(crate) tenant: Option<String>,
    #[command(flatten)]
    pub(crate) at: ServerOption,
}
