//! The options of `wardian sessions`, and those that name the server of a session.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::commands::sessions::examples;
use wardian_formats::protocol::tools::MAX_SEED;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions.
    #[command(after_help = examples::LIST_SESSIONS)]
    List {
        /// Maximum number of sessions to list.
        #[arg(long, value_name = "COUNT", default_value_t = 20)]
        limit: usize,
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Show a session with its last cells and its checkpoints.
    #[command(after_help = examples::SHOW_SESSION)]
    Show {
        /// Id of the session.
        id: String,
        /// Print the session and its last cells as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Create sessions that begin with the state of another one, and print their ids.
    #[command(after_help = examples::FORK_SESSION)]
    Fork {
        /// Id of the session.
        id: String,
        /// The id or name of the checkpoint to begin with [default: the current one].
        #[arg(long, value_name = "CHECKPOINT")]
        checkpoint: Option<String>,
        /// Number of new sessions, up to 16.
        #[arg(long, value_name = "COUNT", default_value_t = 1)]
        #[arg(value_parser = clap::value_parser!(u64).range(1..=16))]
        count: u64,
        /// Seed of their random numbers, if the session is reproducible [default: they draw the same
        /// numbers as the session].
        #[arg(long, value_name = "NUMBER")]
        #[arg(value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
        seed: Option<u64>,
        /// Print the sessions as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Set a session back to an earlier checkpoint.
    #[command(after_help = examples::RESTORE_SESSION)]
    Restore {
        /// Id of the session.
        id: String,
        /// The id or name of the checkpoint.
        checkpoint: String,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Close sessions, and delete their states.
    #[command(after_help = examples::CLOSE_SESSION)]
    Close {
        /// Ids of the sessions.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Create a session of the cells of a Jupyter notebook, which are executed in their order.
    #[command(after_help = examples::IMPORT)]
    Import {
        /// The notebook (.ipynb).
        file: PathBuf,
        /// Go on after a cell that fails.
        #[arg(long)]
        allow_errors: bool,
        /// A text by which the session is found in lists.
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// Make the session reproducible.
        #[arg(long)]
        reproducible: bool,
        /// Seed of its random numbers; implies `--reproducible`.
        #[arg(long, value_name = "NUMBER")]
        #[arg(value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
        seed: Option<u64>,
        /// Print the session and its cells as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: SessionServer,
    },
    /// List the files of a session.
    #[command(after_help = examples::SESSION_FILES)]
    Files {
        /// Id of the session.
        id: String,
        /// Folder to list, below the working folder [default: all files].
        folder: Option<String>,
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Print a file of a session, or write it to a file.
    #[command(after_help = examples::GET_FILE)]
    Get {
        /// Id of the session.
        id: String,
        /// Path of the file, below the working folder.
        path: String,
        /// File to write [default: standard output].
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Write a file to the working folder of a session.
    #[command(after_help = examples::PUT_FILE)]
    Put {
        /// Id of the session.
        id: String,
        /// File to send; `-` is standard input.
        file: PathBuf,
        /// Path of the file in the session, below the working folder [default: its name].
        path: Option<String>,
        /// Write only if the session is at this checkpoint.
        #[arg(long, value_name = "CHECKPOINT")]
        if_checkpoint: Option<String>,
        /// Print what was written, and the new checkpoint, as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Write the record of a reproducible session: its cells, with what came out of them.
    #[command(after_help = examples::SESSION_RECORD)]
    Record {
        /// Id of the session.
        id: String,
        /// File to write [default: standard output].
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Write the cells of a session, with their outputs, as a Jupyter notebook.
    #[command(after_help = examples::NOTEBOOK)]
    Notebook {
        /// Id of the session.
        id: String,
        /// File to write [default: standard output].
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        at: SessionServer,
    },
}

impl SessionsCommand {
    /// The server that the command names.
    pub(super) const fn at(&self) -> &SessionServer {
        match self {
            Self::List { at, .. }
            | Self::Show { at, .. }
            | Self::Fork { at, .. }
            | Self::Restore { at, .. }
            | Self::Close { at, .. }
            | Self::Import { at, .. }
            | Self::Files { at, .. }
            | Self::Get { at, .. }
            | Self::Put { at, .. }
            | Self::Record { at, .. }
            | Self::Notebook { at, .. } => at,
        }
    }
}

/// The running server that has the sessions.
#[derive(Debug, Args)]
pub(crate) struct SessionServer {
    /// The running server [default: the one on this machine, at the address of the setting
    /// `listen`]. The key comes from `--key-file` or the environment variable `WARDIAN_API_KEY`.
    #[arg(long, alias = "url", value_name = "URL")]
    pub(super) server: Option<String>,
    /// File with the API key for the server.
    #[arg(long, value_name = "FILE")]
    pub(super) key_file: Option<PathBuf>,
}
