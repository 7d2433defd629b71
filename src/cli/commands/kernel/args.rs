//! The options of `wardian kernel`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::examples;

#[derive(Debug, Subcommand)]
pub(crate) enum KernelCommand {
    /// Make a kernel available to Jupyter whose cells run in a session of a server.
    #[command(after_help = examples::INSTALL_KERNEL)]
    Install(InstallArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Install for this user (the default).
    #[arg(long)]
    pub(super) user: bool,
    /// Install below FOLDER/share/jupyter.
    #[arg(long, value_name = "FOLDER", conflicts_with = "user")]
    pub(super) prefix: Option<PathBuf>,
    /// Name of the kernel, for several servers.
    #[arg(long, value_name = "NAME", default_value = "wardian")]
    pub(super) name: String,
    /// Name that Jupyter shows [default: Python (Wardian)].
    #[arg(long, value_name = "NAME")]
    pub(super) display_name: Option<String>,
    /// The server, such as `http://127.0.0.1:8080` [default: `WARDIAN_URL` of the kernel's environment].
    #[arg(long, alias = "server", value_name = "URL")]
    pub(super) url: Option<String>,
    /// File with the API key [default: `WARDIAN_API_KEY` of the kernel's environment].
    #[arg(long, value_name = "FILE")]
    pub(super) key_file: Option<PathBuf>,
    /// Python that has the package `wardian[jupyter]` [default: the setting `engine.python`].
    #[arg(long, value_name = "FILE")]
    pub(super) python: Option<PathBuf>,
    /// Print the kernel as JSON.
    #[arg(long)]
    pub(super) json: bool,
}
