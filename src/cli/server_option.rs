//! The options that name a running server.

use std::path::PathBuf;

use clap::Args;

/// The server that a command is about.
#[derive(Debug, Args)]
pub(crate) struct ServerOption {
    /// Ask this running server instead of the data folder on this machine. The key is taken from
    /// `--key-file`, or from the environment variable `WARDIAN_API_KEY`.
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// File with the key that is sent to the server as a bearer token.
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) key_file: Option<PathBuf>,
}
