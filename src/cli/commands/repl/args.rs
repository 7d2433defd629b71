//! The options of `wardian repl`.

use clap::Args;

use crate::cli::commands::sessions::args::SessionServer;

#[derive(Debug, Args)]
pub(crate) struct ReplArgs {
    /// Continue this session instead of creating a new one. It is not closed at the end.
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<String>,
    /// Keep the new session at the end, and print its id.
    #[arg(long)]
    pub(super) keep: bool,
    #[command(flatten)]
    pub(super) at: SessionServer,
}
