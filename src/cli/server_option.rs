//! The options that name a running server.

use std::path::PathBuf;

use clap::Args;

/// The server that a command is about.
#[derive(Debug, Args)]
pub(crate) struct ServerOption {
    /// Use this running server instead of the data folder on this machine. The key comes from
    /// `--key-file` or the environment variable `WARDIAN_API_KEY`.
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// File with the API key for the server.
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) key_file: Option<PathBuf>,
}
