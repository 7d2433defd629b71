//! The servers of tools that `--upstream` and `--upstreams` name.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::commands::mcp::command_words::command_words;
use crate::cli::commands::mcp::upstream_file::{UpstreamEntry, read_upstreams};
use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;
use wardian_config::{MAX_TOOL_SERVERS, Surroundings, check_tool_server_name, is_own_tool_header};
use wardian_tools::config::{CredentialTemplate, ToolServerConfig, ToolSource, parse_server_url};

/// The expected form of `--upstream`.
const FORM: &str = "NAME=COMMAND or NAME=URL, such as `git=uvx mcp-server-git` or \
    `crm=https://crm.example/mcp`";

/// Time of one call. Programs that are fetched first need more than the usual time for their first answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Longest name of a server.
const MAX_NAME: usize = 32;

/// Servers that are added to others.
#[derive(Debug)]
pub(super) struct Upstreams<'a> {
    servers: &'a mut BTreeMap<String, ToolServerConfig>,
    surroundings: &'a Surroundings,
}

impl<'a> Upstreams<'a> {
    pub(super) const fn beside(
        servers: &'a mut BTreeMap<String, ToolServerConfig>,
        surroundings: &'a Surroundings,
    ) -> Self {
        Self { servers, surroundings }
    }

    /// Adds the server of an option: `NAME=COMMAND` or `NAME=URL`.
    pub(super) fn add_option(&mut self, option: &str) -> Result<(), Failed> {
        let wrong = |problem: &str| {
            Failed::usage(format!("`--upstream {option}` {problem}: it must be {FORM}"))
        };
        let (name, server) = option.split_once('=').ok_or_else(|| wrong("has no `=`"))?;
        let (name, server) = (name.trim(), server.trim());
        let entry = if server.starts_with("http://") || server.starts_with("https://") {
            UpstreamEntry { url: Some(server.to_owned()), ..UpstreamEntry::default() }
        } else {
            let mut words = command_words(server).map_err(wrong)?.into_iter();
            let command = words.next().ok_or_else(|| wrong("names no server"))?;
            UpstreamEntry {
                command: Some(command),
                args: words.collect(),
                ..UpstreamEntry::default()
            }
        };
        self.add(name, entry).map_err(|problem| {
            Failed::usage(format!("`--upstream {option}` cannot be used: {problem}"))
        })
    }

    /// Adds the servers of a file of a client.
    pub(super) fn add_file(&mut self, file: &Path) -> Result<(), Failed> {
        for (written, entry) in read_upstreams(file)? {
            let place = file.display();
            if entry.disabled {
                note(&format!("note: `{written}` of {place} is disabled"));
                continue;
            }
            let others: Vec<_> = entry.others.keys().map(|key| format!("`{key}`")).collect();
            if !others.is_empty() {
                let others = others.join(", ");
                note(&format!("warning: {others} of `{written}` in {place} has no effect"));
            }
            let name = name_of(&written);
            if name != written {
                note(&format!("note: `{written}` of {place} is called `{name}`"));
            }
            self.add(&name, entry).map_err(|problem| {
                Failed::usage(format!("{place}: the server `{written}` cannot be used: {problem}"))
            })?;
        }
        Ok(())
    }

    fn add(&mut self, name: &str, entry: UpstreamEntry) -> Result<(), String> {
        check_tool_server_name(name).map_err(str::to_owned)?;
        if self.servers.contains_key(name) {
            return Err(format!("another server is called `{name}`"));
        }
        if self.servers.len() >= MAX_TOOL_SERVERS {
            return Err(format!("there can be {MAX_TOOL_SERVERS} servers"));
        }
        let mut server = ToolServerConfig::new(self.source_of(entry)?);
        server.limits.timeout = TIMEOUT;
        self.servers.insert(name.to_owned(), server);
        Ok(())
    }

    fn source_of(&self, entry: UpstreamEntry) -> Result<ToolSource, String> {
        match (entry.kind.as_deref(), &entry.command, &entry.url) {
            (None | Some("stdio"), Some(_), None) => self.program(entry),
            (None | Some("http" | "streamable-http" | "streamableHttp"), None, Some(url)) => {
                let problem = |problem| format!("the URL {problem}");
                let url = parse_server_url(url).map_err(problem)?;
                Ok(ToolSource::Web { url, headers: headers_of(&entry.headers)? })
            }
            (Some("sse"), ..) => {
                Err("it uses the old transport `sse`: its `type` must be `http`, \
                with the URL of its streamable HTTP"
                    .to_owned())
            }
            (Some(kind), ..) if !["stdio", "http"].contains(&kind) => {
                Err(format!("its `type` is `{kind}`, and must be `stdio` or `http`"))
            }
            _ => Err("it must have either `command` or `url`".to_owned()),
        }
    }

    fn program(&self, entry: UpstreamEntry) -> Result<ToolSource, String> {
        let folder = self.surroundings.absolute(entry.cwd.unwrap_or_else(|| PathBuf::from(".")));
        let mut environment: BTreeMap<String, CredentialTemplate> = BTreeMap::new();
        for (name, value) in &self.surroundings.program_variables {
            environment.insert(name.clone(), CredentialTemplate::plain(value));
        }
        for (name, value) in &entry.env {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err("`env` has a name that is not one of a variable".to_owned());
            }
            environment.insert(name.clone(), template(name, value)?);
        }
        let path = environment.get("PATH").map(CredentialTemplate::as_str).unwrap_or_default();
        let command = entry.command.unwrap_or_default();
        let program = found_program(&command, path, &folder).ok_or_else(|| {
            format!(
                "there is no program `{command}`{}",
                if command.contains('/') { "" } else { " in the folders of PATH" }
            )
        })?;
        let (arguments, environment) = (entry.args, environment.into_iter().collect());
        Ok(ToolSource::Program { program, arguments, environment, folder })
    }
}

fn headers_of(
    headers: &BTreeMap<String, String>,
) -> Result<Vec<(String, CredentialTemplate)>, String> {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let mut read = Vec::new();
    for (name, value) in headers {
        if name.is_empty() || !name.bytes().all(is_sign) || is_own_tool_header(name) {
            return Err(format!("it cannot have the header `{}`", name.escape_debug()));
        }
        read.push((name.clone(), template(name, value)?));
    }
    Ok(read)
}

/// A value in which `${NAME}` stands for a secret.
fn template(name: &str, value: &str) -> Result<CredentialTemplate, String> {
    CredentialTemplate::parse(value).map_err(|problem| {
        format!(
            "the value of `{name}` {problem}: `${{NAME}}` in it is the secret in the environment \
            variable WARDIAN_SECRET_NAME"
        )
    })
}

/// The absolute path of a program that a shell would start by this name.
fn found_program(command: &str, path: &str, folder: &Path) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| {
        let found = std::fs::metadata(file);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if command.contains('/') {
        return Some(folder.join(command)).filter(is_program);
    }
    let folders = path.split(':').filter(|place| !place.is_empty());
    folders.map(|place| folder.join(place).join(command)).find(is_program)
}

/// A name that a server can have, for one in a file of a client.
fn name_of(written: &str) -> String {
    let sign = |sign: char| if sign.is_ascii_alphanumeric() { sign } else { '-' };
    let name: String = written.chars().map(sign).take(MAX_NAME).collect();
    name.trim_matches('-').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(folder: &Path) -> Surroundings {
        let path = ("PATH".to_owned(), "/nowhere:/usr/bin:/bin".to_owned());
        Surroundings {
            working_dir: Some(folder.to_owned()),
            program_variables: vec![path, ("HOME".to_owned(), "/home/${x".to_owned())],
            ..Surroundings::default()
        }
    }

    fn added(
        add: impl FnOnce(&mut Upstreams<'_>) -> Result<(), Failed>,
        folder: &Path,
    ) -> Result<BTreeMap<String, ToolServerConfig>, String> {
        let mut servers = BTreeMap::new();
        let surroundings = surroundings(folder);
        let mut upstreams = Upstreams::beside(&mut servers, &surroundings);
        add(&mut upstreams).map_err(|failed| failed.to_string())?;
        Ok(servers)
    }

    fn of_file(text: &str) -> Result<BTreeMap<String, ToolServerConfig>, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        std::fs::write(&file, text).unwrap();
        added(|upstreams| upstreams.add_file(&file), folder.path())
    }

    #[test]
    fn an_option_names_a_command_or_a_url() {
        let folder = tempfile::tempdir().unwrap();
        let option = |text: &str| added(|upstreams| upstreams.add_option(text), folder.path());
        let servers = option("my-git=env FOO='a b' server").unwrap();
        let ToolSource::Program { program, arguments, environment, folder: place } =
            &servers["my-git"].source
        else {
            panic!("{servers:?}")
        };
        assert_eq!(program.file_name().unwrap(), "env");
        assert!(program.is_absolute() && place == folder.path());
        assert_eq!(arguments, &["FOO=a b", "server"]);
        assert_eq!(environment[0].1.as_str(), "/home/${x");
        let servers = option("crm=https://crm.example.com/mcp").unwrap();
        assert!(matches!(servers["crm"].source, ToolSource::Web { .. }));

        for (text, expected) in [
            ("git", "has no `=`: it must be NAME=COMMAND or NAME=URL, such as"),
            ("git=", "names no server"),
            ("git='x", "has a quote that does not end"),
            ("Git=env", "a name has 1 to 32 characters of a-z"),
            ("list=env", "programs call something else by this name"),
            (
                "git=no-such-program x",
                "there is no program `no-such-program` in the folders of PATH",
            ),
            ("git=./none", "there is no program `./none`"),
            ("git=https://10.0.0.1/", "the URL must name a host"),
            ("git=https://*.example.com/", "must name one place, without `*`"),
        ] {
            let fault = option(text).unwrap_err();
            assert!(fault.contains(expected), "{text}: {fault}");
        }
        let twice = |upstreams: &mut Upstreams<'_>| {
            upstreams.add_option("a=env")?;
            upstreams.add_option("a=env")
        };
        assert!(added(twice, folder.path()).unwrap_err().contains("another server is called `a`"));
    }

    #[test]
    fn a_file_of_a_client_is_read() {
        let servers = of_file(
            r#"{"mcpServers": {
                "My_Git": {"type": "stdio", "command": "env", "args": ["x"], "env": {"TOKEN": "${A_KEY}"},
                    "cwd": "/tmp", "autoApprove": ["a"]},
                "crm": {"url": "https://crm.example.com/mcp", "headers": {"Authorization": "Bearer x"}},
                "off": {"command": "none", "disabled": true}}}"#,
        )
        .unwrap();
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["crm", "my-git"]);
        let ToolSource::Program { environment, folder, .. } = &servers["my-git"].source else {
            panic!("{servers:?}")
        };
        assert_eq!(folder, Path::new("/tmp"));
        assert!(
            environment.iter().any(|(name, value)| name == "TOKEN" && value.as_str() == "${A_KEY}")
        );
        let ToolSource::Web { headers, .. } = &servers["crm"].source else { panic!("{servers:?}") };
        assert_eq!(headers[0].1.as_str(), "Bearer x");
        assert_eq!(servers["crm"].limits.timeout, TIMEOUT);
        assert!(of_file(r#"{"servers": {"a": {"command": "env"}}}"#).is_ok(), "of VS Code");
    }

    #[test]
    fn a_wrong_file_is_one_line_that_says_what_is_expected() {
        for (text, expected) in [
            ("{", "it must be JSON such as {\"mcpServers\""),
            ("{}", "missing field `mcpServers`"),
            (r#"{"mcpServers": {"a": {}}}"#, "it must have either `command` or `url`"),
            (r#"{"mcpServers": {"a": {"command": "env", "url": "https://a.example"}}}"#, "either"),
            (
                r#"{"mcpServers": {"a": {"type": "sse", "url": "https://a.example"}}}"#,
                "old transport",
            ),
            (
                r#"{"mcpServers": {"a": {"type": "ws", "url": "https://a.example"}}}"#,
                "`type` is `ws`",
            ),
            (
                r#"{"mcpServers": {"a": {"command": "env", "env": {"A": "${env:B}"}}}}"#,
                "WARDIAN_SECRET_NAME",
            ),
            (
                r#"{"mcpServers": {"1": {"command": "env"}}}"#,
                "the server `1` cannot be used: a name has",
            ),
            (
                r#"{"mcpServers": {"a": {"url": "https://a.example", "headers": {"Host": "b"}}}}"#,
                "header `Host`",
            ),
            (
                r#"{"mcpServers": {"a_b": {"command": "env"}, "a.b": {"command": "env"}}}"#,
                "is called `a-b`",
            ),
        ] {
            let fault = of_file(text).unwrap_err();
            assert!(fault.contains(expected) && !fault.contains('\n'), "{text}: {fault}");
        }
    }
}
