//! The options of `wardian mcp`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Forward messages to this running server, such as `http://127.0.0.1:8080`. The key comes from
    /// `--key-file` or the environment variable `WARDIAN_API_KEY`.
    #[arg(long = "server", alias = "url", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// File with the API key for the server.
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) key_file: Option<PathBuf>,
    /// Let models read the files in this folder and mount them in runs; can be given several times.
    /// Hidden files and links are excluded. Nothing is ever changed.
    #[arg(long, value_name = "FOLDER", conflicts_with = "url")]
    pub(crate) files: Vec<PathBuf>,
    /// Save the files that runs keep to this folder, which is created if it does not exist. Existing
    /// files are never replaced.
    #[arg(long, value_name = "FOLDER", conflicts_with = "url")]
    pub(crate) out: Option<PathBuf>,
    /// Offer each executable skill as a separate tool. A running server has its own setting for this.
    #[arg(long, conflicts_with = "url")]
    skills_as_tools: bool,
    /// Offer two tools instead: `search_tools` finds the tools of other servers, and `run_code` runs
    /// Python that calls them. The servers are those of `--upstream`, `--upstreams` and the
    /// configuration.
    #[arg(long, conflicts_with_all = ["url", "files", "out", "skills_as_tools"])]
    pub(crate) code_mode: bool,
    /// Add an MCP server for `--code-mode`: the command that starts it, or its URL; can be given
    /// several times.
    #[arg(long, value_name = "NAME=SERVER", requires = "code_mode")]
    pub(crate) upstream: Vec<String>,
    /// Add the MCP servers of this file for `--code-mode`. It is JSON with `mcpServers`, as clients
    /// have it.
    #[arg(long, value_name = "FILE", requires = "code_mode")]
    pub(crate) upstreams: Option<PathBuf>,
    /// Approve beforehand of calls of these tools, which their server says to be destructive. `*`
    /// stands for any characters; can be given several times.
    #[arg(long, value_name = "SERVER.TOOL", requires = "code_mode")]
    pub(crate) approve: Vec<String>,
}

impl McpArgs {
    /// The value of the setting of that name, if the option is given.
    pub(crate) fn skills_as_tools(&self) -> Option<String> {
        self.skills_as_tools.then(|| "true".to_owned())
    }
}
