//! The arguments of `wardian tools`.

use clap::Subcommand;

/// Examples for its help.
pub(crate) const TOOLS: &str = "\
Examples:
  wardian --config wardian.toml tools list
  wardian --config wardian.toml tools list --tenant acme --json
  wardian --config wardian.toml tools call github.search_issues '{\"query\": \"crash\"}'

Exit codes: 0 done, 1 the tool reports an error, 2 wrong usage or no such tool,
3 a server does not answer.";

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools of the servers in the configuration.
    #[command(after_help = TOOLS)]
    List {
        /// List what this tenant sees, with its credentials.
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        /// Print everything as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Call a tool, and print its answer as JSON.
    #[command(after_help = TOOLS)]
    Call {
        /// The tool, such as `github.search_issues`.
        tool: String,
        /// The arguments, a JSON object.
        #[arg(default_value = "{}")]
        arguments: String,
        /// Call it as this tenant.
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        /// Approve of the call, if the tool needs an approval.
        #[arg(long)]
        approve: bool,
    },
}
