//! What operators decide about servers of tools.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use wardian_formats::skill::manifest::secret_name::check_secret_name;
use wardian_formats::skill::manifest::tool_pattern::ToolGlob;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::secret_text::SecretText;
use wardian_vocabulary::units::ByteCount;

/// Most listings that are kept of a server whose tenants have credentials of their own. Of others there is one.
pub const MAX_LISTINGS: usize = 64;

/// The servers of tools, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolsConfig {
    /// Each server; its name is the first part of the names of its tools.
    pub servers: BTreeMap<String, ToolServerConfig>,
}

/// One server of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolServerConfig {
    /// What it is, and where.
    pub source: ToolSource,
    /// The tenants that see it; `None` for all.
    pub tenants: Option<BTreeSet<TenantId>>,
    /// The tools that are offered; all if it is empty.
    pub allow: Vec<ToolGlob>,
    /// Tools that are never offered.
    pub deny: Vec<ToolGlob>,
    /// Tools that need the caller's approval, besides those that the server says to be destructive.
    pub approve: Vec<ToolGlob>,
    /// Tools of which the operator has approved beforehand although the server says them to be destructive.
    pub approved: Vec<ToolGlob>,
    /// Tools that code of a call may use. Skills have the patterns of their manifests instead.
    pub code: Vec<ToolGlob>,
    /// Whose secrets its credentials are.
    pub credentials: CredentialScope,
    /// Its bounds.
    pub limits: ToolLimits,
}

impl ToolServerConfig {
    /// A server that everybody sees, with the usual bounds, from which skills get what their manifests name.
    #[must_use]
    pub fn new(source: ToolSource) -> Self {
        Self {
            source,
            tenants: None,
            allow: Vec::new(),
            deny: Vec::new(),
            approve: Vec::new(),
            approved: Vec::new(),
            code: Vec::new(),
            credentials: CredentialScope::Server,
            limits: ToolLimits::default(),
        }
    }
}

/// What a server of tools is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolSource {
    /// An MCP server behind a URL (streamable HTTP).
    Web {
        /// Its URL, as [`parse_server_url`] reads it.
        url: UrlPattern,
        /// Headers of each request.
        headers: Vec<(String, CredentialTemplate)>,
    },
    /// An MCP server that is a program of this machine: messages on its standard input and output.
    Program {
        /// The absolute path of the program.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<String>,
        /// All of its environment.
        environment: Vec<(String, CredentialTemplate)>,
        /// The folder that it works in.
        folder: PathBuf,
    },
    /// An HTTP API.
    OpenApi {
        /// The document, a file in JSON or YAML.
        document: PathBuf,
        /// The URL that its paths are below, as [`parse_server_url`] reads it; else the document's first server.
        base: Option<UrlPattern>,
        /// Headers of each request.
        headers: Vec<(String, CredentialTemplate)>,
    },
}

/// Whose secrets the credentials of a server are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialScope {
    /// Those of the server: every tenant acts as the operator.
    Server,
    /// Those of the tenant whose run calls, as its runs would get them.
    Tenant,
}

/// Bounds of a server of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// Calls of one run. A program in a loop would use up what the operator pays for. Default 100.
    pub calls_per_run: u32,
    /// Calls at one time; a tenant has three quarters of them. Default 8.
    pub concurrent: usize,
    /// Time of one call, with the wait for its turn. Default 30 s.
    pub timeout: Duration,
    /// Arguments of one call. Default 256 KiB.
    pub arguments: ByteCount,
    /// The answer to one call, with everything that the server sends besides. Default 1 MiB.
    pub result: ByteCount,
    /// The listing: all of its pages, or the document. Default 4 MiB.
    pub listing: ByteCount,
    /// Tools that are offered; further ones are left out. Default 256.
    pub tools: usize,
    /// How long a listing is used, unless the server tells of a change. Default 5 min.
    pub listing_age: Duration,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            calls_per_run: 100,
            concurrent: 8,
            timeout: Duration::from_secs(30),
            arguments: ByteCount::kibibytes(256),
            result: ByteCount::mebibytes(1),
            listing: ByteCount::mebibytes(4),
            tools: 256,
            listing_age: Duration::from_mins(5),
        }
    }
}

/// Reads the URL of a server: one host, and a path without a query. Requests go there and nowhere else.
///
/// # Errors
///
/// The problem, as the end of a sentence that begins with the URL.
pub fn parse_server_url(text: &str) -> Result<UrlPattern, &'static str> {
    let url = UrlPattern::parse(text).map_err(|invalid| invalid.problem)?;
    if url.allows_subdomains() || text.contains('*') {
        return Err("must name one place, without `*`");
    }
    Ok(url)
}

/// A text with places for secrets: `Bearer ${GITHUB_TOKEN}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialTemplate {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Secret(String),
}

impl CredentialTemplate {
    /// Reads a text in which `${NAME}` stands for a secret.
    ///
    /// # Errors
    ///
    /// The problem, as the end of a sentence that begins with the text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or("has a `${` without its `}`")?;
            check_secret_name(name)?;
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Secret(name.to_owned()));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        if text.chars().any(char::is_control) {
            return Err("must not have control characters");
        }
        Ok(Self { text: text.to_owned(), pieces })
    }

    /// A text without secrets, whatever signs it has.
    #[must_use]
    pub fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), pieces: vec![Piece::Text(text.to_owned())] }
    }

    /// The text as it was written, without values.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of its secrets.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Secret(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The text with the values; a secret without one is left out.
    pub(crate) fn filled(&self, values: &BTreeMap<String, SecretText>) -> String {
        let value = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Secret(name) => {
                values.get(name).map_or_else(String::new, |value| value.expose().to_owned())
            }
        };
        self.pieces.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_have_their_places_in_a_text() {
        let template = CredentialTemplate::parse("Bearer ${A_KEY}:${B}!").unwrap();
        assert_eq!(template.names().collect::<Vec<_>>(), ["A_KEY", "B"]);
        let values = [("A_KEY", "one"), ("B", "two")];
        let values =
            values.map(|(name, value)| (name.to_owned(), SecretText::from(value.to_owned())));
        assert_eq!(template.filled(&values.into()), "Bearer one:two!");
        assert_eq!(template.as_str(), "Bearer ${A_KEY}:${B}!");
        let plain = CredentialTemplate::plain("${A_KEY}");
        assert_eq!(
            (plain.names().count(), plain.filled(&BTreeMap::new()).as_str()),
            (0, "${A_KEY}")
        );
        for wrong in ["${A", "${}", "${A-B}", "${LD_PRELOAD}", "a\nb"] {
            assert!(CredentialTemplate::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_server_has_one_place() {
        assert!(parse_server_url("https://api.example.com/mcp").is_ok());
        for wrong in [
            "https://*.example.com",
            "https://api.example.com/*",
            "https://api.example.com/?x=1",
            "https://10.0.0.1/",
            "api.example.com",
        ] {
            assert!(parse_server_url(wrong).is_err(), "{wrong}");
        }
    }
}
