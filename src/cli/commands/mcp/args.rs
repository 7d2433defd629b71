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
}

impl McpArgs {
    /// The value of the setting of that name, if the option is given.
    pub(crate) fn skills_as_tools(&self) -> Option<String> {
        self.skills_as_tools.then(|| "true".to_owned())
    }
}
