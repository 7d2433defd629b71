//! The options of `wardian fleet`.

use clap::Subcommand;

/// The examples of `wardian fleet`.
pub(crate) const FLEET: &str = "\
Examples:
  wardian fleet status
  wardian fleet status --json
  wardian --config /etc/wardian/config.toml fleet status

The command reads the database of the configuration (`database.url_file`), and asks no server.
A server whose lease has ended is gone, or stands still: others end what it executed.";

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Show the servers on the database, what each has, and what waits for one.
    #[command(after_help = FLEET)]
    Status {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
}
