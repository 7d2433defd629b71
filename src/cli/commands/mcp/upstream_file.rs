//! Files with MCP servers, as clients of the protocol have them: JSON with `mcpServers`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::cli::failed::Failed;
use wardian_vocabulary::files::regular_file::open_regular;

/// Largest file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A file.
#[derive(Debug, Deserialize)]
struct UpstreamFile {
    /// The name of the member is `servers` in VS Code.
    #[serde(rename = "mcpServers", alias = "servers")]
    servers: BTreeMap<String, UpstreamEntry>,
}

/// A server in a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UpstreamEntry {
    #[serde(rename = "type", alias = "transport")]
    pub(super) kind: Option<String>,
    pub(super) command: Option<String>,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) url: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) disabled: bool,
    /// What clients have besides.
    #[serde(flatten)]
    pub(super) others: BTreeMap<String, IgnoredAny>,
}

/// Reads the servers of a file, by their names.
pub(super) fn read_upstreams(path: &Path) -> Result<BTreeMap<String, UpstreamEntry>, Failed> {
    let named = |fault: &std::io::Error| Failed::named(path.display(), fault);
    let mut text = String::new();
    let file = open_regular(path).map_err(|fault| named(&fault))?;
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|fault| named(&fault))?;
    if u64::try_from(read).is_ok_and(|read| read > MAX_FILE) {
        return Err(Failed::usage(format!("{}: it is larger than 1 MiB", path.display())));
    }
    let file: UpstreamFile = serde_json::from_str(&text).map_err(|fault| {
        Failed::usage(format!(
            "{}: it must be JSON such as {{\"mcpServers\": {{\"git\": {{\"command\": \"uvx\", \
            \"args\": [\"mcp-server-git\"]}}}}}}: {fault}",
            path.display()
        ))
    })?;
    Ok(file.servers)
}
