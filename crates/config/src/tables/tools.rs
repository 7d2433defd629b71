//! The setting `tools`: servers of tools, each a table with its name.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use toml::{Table, Value as Toml};

use crate::environment::Surroundings;
use crate::reader::Reader;
use crate::value::SettingValue;
use wardian_formats::skill::manifest::tool_pattern::{ToolGlob, is_tool_server};
use wardian_tools::config::{
    CredentialScope, CredentialTemplate, ToolLimits, ToolServerConfig, ToolSource, ToolsConfig,
    parse_server_url,
};
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// Most servers. Each keeps a listing in memory.
pub const MAX_TOOL_SERVERS: usize = 32;

/// Most patterns, headers, variables or tenants in one list.
const MAX_ENTRIES: usize = 256;

/// Names that the module of programs has itself.
const OTHER_NAMES: [&str; 5] = ["call", "getpass", "input", "list", "search"];

const TIMES: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_hours(1);
const AGES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(24);
const SIZES: RangeInclusive<ByteCount> = ByteCount::kibibytes(1)..=ByteCount::mebibytes(64);
const CALLS: RangeInclusive<u32> = 1..=1_000_000;
const COUNTS: RangeInclusive<usize> = 1..=1_024;

/// The keys of a server's table.
const KEYS: &str = "`mcp`, `command`, `openapi`, `base`, `headers`, `environment`, `tenants`, \
     `allow`, `deny`, `approve`, `code`, `credentials`, `timeout`, `calls_per_run`, \
     `concurrent`, `max_arguments`, `max_result`, `max_listing`, `max_tools`, `listing_age`";

/// Headers that the gateway sets itself.
const OWN_HEADERS: [&str; 10] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
    "upgrade",
];

/// Checks the name of a server of tools.
///
/// # Errors
///
/// The problem, as a sentence.
pub fn check_tool_server_name(name: &str) -> Result<(), &'static str> {
    if !is_tool_server(name) {
        return Err(
            "a name has 1 to 32 characters of a-z, 0-9 and inner dashes, and begins with a \
            letter",
        );
    }
    if OTHER_NAMES.contains(&name) {
        return Err("programs call something else by this name");
    }
    Ok(())
}

/// True if the gateway sets a header of this name itself.
#[must_use]
pub fn is_own_tool_header(name: &str) -> bool {
    OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// Reads the servers of tools.
pub(crate) fn read_tools(reader: &mut Reader, surroundings: &Surroundings) -> ToolsConfig {
    let mut servers = BTreeMap::new();
    reader.read_named_tables("tools", |tables: &ServerTables| {
        servers = servers_of(&tables.0, surroundings)?;
        Ok(())
    });
    ToolsConfig { servers }
}

/// Tables of servers, as they are written.
#[derive(Debug, Clone, Default, PartialEq)]
struct ServerTables(Table);

/// Patterns of names of tools or skills.
impl SettingValue for Vec<ToolGlob> {
    const EXPECTED: &'static str = "a list of patterns such as [\"data.*\"]";

    fn from_text(text: &str) -> Option<Self> {
        Vec::<String>::from_text(text)?.iter().map(|entry| ToolGlob::parse(entry).ok()).collect()
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        Vec::<String>::from_toml(value)?.iter().map(|entry| ToolGlob::parse(entry).ok()).collect()
    }

    fn to_toml(&self) -> Toml {
        self.iter().map(ToolGlob::to_string).collect::<Vec<_>>().to_toml()
    }
}

/// In flags and the environment an inline table of TOML.
impl SettingValue for ServerTables {
    const EXPECTED: &'static str = "a table of servers such as { github = { mcp = \
        \"https://mcp.example.com/\" } }";

    fn from_text(text: &str) -> Option<Self> {
        let file: Table = format!("tools = {text}").parse().ok()?;
        Self::from_toml(file.get("tools")?)
    }

    fn from_toml(value: &Toml) -> Option<Self> {
        let table = value.as_table()?;
        table.values().all(Toml::is_table).then(|| Self(table.clone()))
    }

    fn to_toml(&self) -> Toml {
        Toml::Table(self.0.clone())
    }
}

fn servers_of(
    tables: &Table,
    surroundings: &Surroundings,
) -> Result<BTreeMap<String, ToolServerConfig>, String> {
    if tables.len() > MAX_TOOL_SERVERS {
        return Err(format!("must have at most {MAX_TOOL_SERVERS} servers"));
    }
    let mut servers = BTreeMap::new();
    for (name, table) in tables {
        check_tool_server_name(name)
            .map_err(|problem| format!("has a server `{}`: {problem}", name.escape_debug()))?;
        let keys = ServerKeys { name, table, surroundings };
        servers.insert(name.clone(), keys.server()?);
    }
    Ok(servers)
}

/// The table of one server.
struct ServerKeys<'a> {
    name: &'a str,
    table: &'a Toml,
    surroundings: &'a Surroundings,
}

impl ServerKeys<'_> {
    fn server(&self) -> Result<ToolServerConfig, String> {
        let mut config = ToolServerConfig::new(self.source()?);
        for (key, value) in self.table.as_table().into_iter().flatten() {
            self.set(&mut config, key, value)
                .map_err(|fault| format!("has `{}.{key}`, which {fault}", self.name))?;
        }
        let is_program = matches!(config.source, ToolSource::Program { .. });
        if is_program && config.credentials == CredentialScope::Tenant {
            return Err(format!(
                "has `{}.credentials`, which must be \"server\" for a `command`: all tenants share \
                 its process",
                self.name
            ));
        }
        Ok(config)
    }

    /// What the server is. Its keys belong together, so they are read at once.
    fn source(&self) -> Result<ToolSource, String> {
        let name = self.name;
        let fault = |key: &str, fault: String| format!("has `{name}.{key}`, which {fault}");
        let given = ["mcp", "command", "openapi"].map(|key| self.table.get(key));
        let (headers, environment) = (self.templates("headers")?, self.templates("environment")?);
        if let Some((own, _)) = headers.iter().find(|(header, _)| is_own_tool_header(header)) {
            return Err(fault("headers", format!("must not have `{}`", own.escape_debug())));
        }
        let stray = |key: &str| match self.table.get(key) {
            Some(_) => Err(fault(key, "its kind of server does not have".to_owned())),
            None => Ok(()),
        };
        match given {
            [Some(url), None, None] => {
                ["base", "environment"].into_iter().try_for_each(stray)?;
                let url = text(url).and_then(|url| server_url(&url));
                let url = url.map_err(|problem| fault("mcp", problem))?;
                Ok(ToolSource::Web { url, headers })
            }
            [None, Some(command), None] => {
                ["base", "headers"].into_iter().try_for_each(stray)?;
                let words = texts(command).map_err(|problem| fault("command", problem))?;
                let mut words = words.into_iter();
                let program = words.next().map(PathBuf::from).filter(|path| path.is_absolute());
                let program = program.ok_or_else(|| {
                    fault("command", "must begin with the absolute path of a program".to_owned())
                })?;
                let (arguments, folder) = (words.collect(), PathBuf::from("/"));
                Ok(ToolSource::Program { program, arguments, environment, folder })
            }
            [None, None, Some(document)] => {
                ["environment"].into_iter().try_for_each(stray)?;
                let document = text(document).map_err(|problem| fault("openapi", problem))?;
                let document = self.surroundings.absolute(document.into());
                let base =
                    self.table.get("base").map(|url| text(url).and_then(|url| server_url(&url)));
                let base = base.transpose().map_err(|problem| fault("base", problem))?;
                Ok(ToolSource::OpenApi { document, base, headers })
            }
            _ => {
                Err(format!("has `{name}`, which must have one of `mcp`, `command` and `openapi`"))
            }
        }
    }

    /// Names of headers or variables, with their values.
    fn templates(&self, key: &str) -> Result<Vec<(String, CredentialTemplate)>, String> {
        let Some(value) = self.table.get(key) else { return Ok(Vec::new()) };
        let fault = |fault: &str| format!("has `{}.{key}`, which {fault}", self.name);
        let table = value.as_table().filter(|table| table.len() <= MAX_ENTRIES);
        let table = table.ok_or_else(|| fault("must be a table of texts"))?;
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let mut templates = Vec::new();
        for (name, value) in table {
            if name.is_empty() || !name.bytes().all(is_sign) {
                return Err(fault("must have names of letters, digits, `_` and `-`"));
            }
            let text = value.as_str().ok_or_else(|| fault("must be a table of texts"))?;
            let template = CredentialTemplate::parse(text);
            let template = template
                .map_err(|problem| fault(&format!("has a value for `{name}` that {problem}")))?;
            templates.push((name.clone(), template));
        }
        Ok(templates)
    }

    fn set(&self, config: &mut ToolServerConfig, key: &str, value: &Toml) -> Result<(), String> {
        let limits: &mut ToolLimits = &mut config.limits;
        match key {
            "mcp" | "command" | "openapi" | "base" | "headers" | "environment" => {}
            "tenants" => {
                let names = texts(value)?;
                let tenants = names.iter().map(|name| TenantId::parse(name));
                let tenants = tenants.collect::<Result<_, _>>();
                let wrong = |_| "must be a list of names of tenants".to_owned();
                config.tenants = Some(tenants.map_err(wrong)?);
            }
            "allow" => config.allow = globs(value)?,
            "deny" => config.deny = globs(value)?,
            "approve" => config.approve = globs(value)?,
            "code" => config.code = globs(value)?,
            "credentials" => {
                config.credentials = match value.as_str() {
                    Some("server") => CredentialScope::Server,
                    Some("tenant") => CredentialScope::Tenant,
                    _ => return Err("must be \"server\" or \"tenant\"".to_owned()),
                }
            }
            "timeout" => limits.timeout = within(value, &TIMES)?,
            "listing_age" => limits.listing_age = within(value, &AGES)?,
            "calls_per_run" => limits.calls_per_run = within(value, &CALLS)?,
            "concurrent" => limits.concurrent = within(value, &COUNTS)?,
            "max_tools" => limits.tools = within(value, &COUNTS)?,
            "max_arguments" => limits.arguments = within(value, &SIZES)?,
            "max_result" => limits.result = within(value, &SIZES)?,
            "max_listing" => limits.listing = within(value, &SIZES)?,
            _ => return Err(format!("is not a setting of a server; the settings are {KEYS}")),
        }
        Ok(())
    }
}

fn server_url(
    text: &str,
) -> Result<wardian_formats::skill::manifest::url_pattern::UrlPattern, String> {
    parse_server_url(text).map_err(str::to_owned)
}

fn text(value: &Toml) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| "must be a text".to_owned())
}

fn texts(value: &Toml) -> Result<Vec<String>, String> {
    let texts = Vec::<String>::from_toml(value).filter(|texts| texts.len() <= MAX_ENTRIES);
    texts.ok_or_else(|| "must be a list of texts".to_owned())
}

fn globs(value: &Toml) -> Result<Vec<ToolGlob>, String> {
    let parse = |text: &String| {
        ToolGlob::parse(text)
            .map_err(|problem| format!("has a pattern `{}` that {problem}", text.escape_debug()))
    };
    texts(value)?.iter().map(parse).collect()
}

fn read<T: SettingValue>(value: &Toml) -> Result<T, String> {
    T::from_toml(value).ok_or_else(|| T::fault_of_toml(value))
}

fn within<T: SettingValue + PartialOrd>(
    value: &Toml,
    range: &RangeInclusive<T>,
) -> Result<T, String> {
    let value = read::<T>(value)?;
    if range.contains(&value) {
        return Ok(value);
    }
    let shown = |bound: &T| bound.to_toml().to_string();
    Err(format!("must be between {} and {}", shown(range.start()), shown(range.end())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ConfigError, Flags};

    fn load(file: &str, flags: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wardian.toml");
        std::fs::write(&path, file).unwrap();
        let surroundings = Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            working_dir: Some("/here".into()),
            ..Surroundings::default()
        };
        let settings = flags.iter().map(|(key, text)| ((*key).into(), (*text).into())).collect();
        Config::load(&surroundings, Flags { file: Some(path), settings })
    }

    const FILE: &str = r#"
[tools.github]
mcp = "https://mcp.example.com/v1"
headers = { Authorization = "Bearer ${GITHUB_TOKEN}" }
tenants = ["acme"]
allow = ["search_*"]
deny = ["search_secrets"]
approve = ["create_*"]
code = ["search_issues"]
credentials = "tenant"
timeout = "10 s"
calls_per_run = 7
concurrent = 2
max_arguments = "8 KiB"
max_result = "2 MiB"
max_listing = "3 MiB"
max_tools = 9
listing_age = "1 min"

[tools.db]
command = ["/usr/bin/python3", "/srv/db.py"]
environment = { TOKEN = "${DB_TOKEN}", PATH = "/usr/bin" }

[tools.crm]
openapi = "crm.yaml"
base = "https://crm.example.com/api"
"#;

    #[test]
    fn servers_of_tools_are_read_from_a_file_and_from_a_flag() {
        let config = load(FILE, &[]).unwrap();
        let servers = &config.tools.servers;
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["crm", "db", "github"]);
        let github = &servers["github"];
        let ToolSource::Web { url, headers } = &github.source else { panic!() };
        assert_eq!(url.as_str(), "https://mcp.example.com/v1");
        assert_eq!(headers[0].1.as_str(), "Bearer ${GITHUB_TOKEN}");
        assert_eq!(github.tenants.as_ref().unwrap().len(), 1);
        assert!(github.allow[0].matches("search_x"));
        assert_eq!((github.deny.len(), github.approve.len(), github.code.len()), (1, 1, 1));
        assert_eq!(github.credentials, CredentialScope::Tenant);
        let expected = ToolLimits {
            calls_per_run: 7,
            concurrent: 2,
            timeout: Duration::from_secs(10),
            arguments: ByteCount::kibibytes(8),
            result: ByteCount::mebibytes(2),
            listing: ByteCount::mebibytes(3),
            tools: 9,
            listing_age: Duration::from_mins(1),
        };
        assert_eq!(github.limits, expected);
        let ToolSource::Program { program, arguments, environment, .. } = &servers["db"].source
        else {
            panic!()
        };
        assert_eq!(program, &PathBuf::from("/usr/bin/python3"));
        assert_eq!((arguments.len(), environment.len()), (1, 2));
        let ToolSource::OpenApi { document, base, .. } = &servers["crm"].source else { panic!() };
        assert_eq!(document, &PathBuf::from("/here/crm.yaml"));
        assert!(base.is_some());
        assert_eq!(servers["crm"].limits, ToolLimits::default());

        let printed = config.to_toml();
        assert_eq!(load(&printed, &[]).unwrap().tools, config.tools, "{printed}");
        let flag = [("tools", "{ a = { mcp = \"https://a.example.com/\" } }")];
        assert_eq!(load("", &flag).unwrap().tools.servers.len(), 1);
        assert!(load("", &[]).unwrap().tools.servers.is_empty());
    }

    #[test]
    fn a_wrong_server_is_one_line() {
        for (table, expected) in [
            ("[tools]\nx = 3", "`tools` must be a table of servers such as"),
            ("[tools.X]\nmcp = \"https://a.example.com\"", "has a server `X`: a name has 1 to 32"),
            ("[tools.list]\nmcp = \"https://a.example.com\"", "call something else by this name"),
            ("[tools.x]", "has `x`, which must have one of `mcp`, `command` and `openapi`"),
            ("[tools.x]\nmcp = \"https://a.example.com\"\nopenapi = \"a\"", "must have one of"),
            ("[tools.x]\nmcp = \"https://10.0.0.1/\"", "has `x.mcp`, which must name a host, not"),
            ("[tools.x]\nmcp = \"https://*.example.com/\"", "must name one place, without `*`"),
            (
                "[tools.x]\nmcp = \"https://a.example.com\"\nbase = \"b\"",
                "`x.base`, which its kind",
            ),
            (
                "[tools.x]\ncommand = [\"python3\"]",
                "must begin with the absolute path of a program",
            ),
            ("[tools.x]\ncommand = [\"/p\"]\ncredentials = \"tenant\"", "all tenants share"),
            (
                "[tools.x]\ncommand = [\"/p\"]\nenvironment = { A = \"${LD_X}\" }",
                "for `A` that is a",
            ),
            (
                "[tools.x]\nmcp = \"https://a.example.com\"\nheaders = { Host = \"b\" }",
                "not have `Host`",
            ),
            (
                "[tools.x]\nmcp = \"https://a.example.com\"\nallow = [\"a b\"]",
                "has a pattern `a b`",
            ),
            ("[tools.x]\nmcp = \"https://a.example.com\"\ntimeout = 3", "must have a unit"),
            ("[tools.x]\nmcp = \"https://a.example.com\"\nmax_tools = 0", "must be between 1 and"),
            (
                "[tools.x]\nmcp = \"https://a.example.com\"\ntimout = \"3 s\"",
                "is not a setting of a",
            ),
        ] {
            let told = load(table, &[]).unwrap_err();
            let ConfigError::Settings { problems } = told else { panic!("{told:?}") };
            assert!(problems.len() == 1 && problems[0].contains(expected), "{table}: {problems:?}");
        }
    }
}
