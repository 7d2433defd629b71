//! The options of `wardian mcp`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Hand messages to this running server, such as `http://127.0.0.1:8080`. The key is taken from
    /// `--key-file`, or from the environment variable `WARDIAN_API_KEY`.
    #[arg(long = "server", alias = "url", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// File with the key that is sent to the server as a bearer token.
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) key_file: Option<PathBuf>,
    /// Let models read the files in this folder and mount them in runs; can be given several times.
    /// Hidden files and links are left out, and nothing is changed.
    #[arg(long, value_name = "FOLDER", conflicts_with = "url")]
    pub(crate) files: Vec<PathBuf>,
    /// Save the files that runs keep in this folder, which is made if it is not there. Files in it are
    /// never replaced.
    #[arg(long, value_name = "FOLDER", conflicts_with = "url")]
    pub(crate) out: Option<PathBuf>,
    /// Publish each skill that can be executed as a tool of its own. A running server decides this
    /// itself.
    #[arg(long, conflicts_with = "url")]
    skills_as_tools: bool,
}

impl McpArgs {
    /// The value of the setting of that name, if the option is given.
    pub(crate) fn skills_as_tools(&self) -> Option<String> {
        self.skills_as_tools.then(|| "true".to_owned())
    }
}
