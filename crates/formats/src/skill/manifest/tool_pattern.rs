//! Patterns of the names of tools, such as `github.search_*`.
//!
//! INVARIANT(named-servers): a pattern of a manifest names the server whose tools it means. It never means tools
//! of several servers.

use std::fmt;

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::manifest::fields::TextField;
use crate::skill::text::quoted;

/// Longest name of a server, in bytes.
const MAX_SERVER: usize = 32;

/// Longest glob, in bytes.
const MAX_GLOB: usize = 128;

/// True for a name that a server of tools can have: a-z, 0-9 and inner dashes, of which a letter is the first.
#[must_use]
pub fn is_tool_server(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    name.len() <= MAX_SERVER
        && name.bytes().all(is_inner)
        && name.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
        && !name.ends_with('-')
}

/// A pattern of the names that a server gives its tools: `*` stands for any signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolGlob(String);

impl ToolGlob {
    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// The problem, as the end of a sentence that begins with the text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./*".contains(&byte);
        if text.is_empty() || text.len() > MAX_GLOB {
            return Err("must have 1 to 128 characters");
        }
        if !text.bytes().all(is_sign) {
            return Err("must consist of letters, digits, `_`, `-`, `.`, `/` and `*`");
        }
        Ok(Self(text.to_owned()))
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if it means the tool that its server calls `name`.
    ///
    /// Takes time in proportion to the product of both lengths at most.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let (mut glob, mut rest) = (self.0.as_bytes(), name.as_bytes());
        // The part of the glob behind the last `*`, and where its trial began.
        let mut retry: Option<(&[u8], &[u8])> = None;
        loop {
            match (glob.split_first(), rest.split_first()) {
                (Some((b'*', after)), _) => {
                    glob = after;
                    retry = Some((after, rest));
                }
                (Some((wanted, after)), Some((found, later))) if wanted == found => {
                    (glob, rest) = (after, later);
                }
                (None, None) => return true,
                _ => {
                    let Some((after, from)) = retry else { return false };
                    let Some((_, later)) = from.split_first() else { return false };
                    (glob, rest) = (after, later);
                    retry = Some((after, later));
                }
            }
        }
    }
}

impl fmt::Display for ToolGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A pattern of tools of one server: `github.search_*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPattern {
    server: String,
    tool: ToolGlob,
}

impl ToolPattern {
    /// Reads `SERVER.TOOL`, where the tool may have `*`.
    ///
    /// # Errors
    ///
    /// The problem, as the end of a sentence that begins with the text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let form = "must be a server and a tool with a dot between them, such as `github.search_*`";
        let (server, tool) = text.split_once('.').ok_or(form)?;
        if !is_tool_server(server) {
            return Err("must name its server before the dot: a-z, 0-9 and inner dashes");
        }
        Ok(Self { server: server.to_owned(), tool: ToolGlob::parse(tool)? })
    }

    /// True if it means the tool `tool` of `server`.
    #[must_use]
    pub fn grants(&self, server: &str, tool: &str) -> bool {
        self.server == server && self.tool.matches(tool)
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.server, self.tool)
    }
}

/// Reads patterns of the names of skills.
pub(crate) fn read_skill_patterns(
    texts: &[TextField<'_>],
    findings: &mut Findings<'_>,
) -> Vec<ToolGlob> {
    let mut patterns = Vec::with_capacity(texts.len());
    for text in texts {
        match ToolGlob::parse(text.text) {
            Ok(pattern) => patterns.push(pattern),
            Err(problem) => {
                let message = format!("the pattern of skills {} {problem}", quoted(text.text));
                findings.error(text.span, Problem::new("invalid-skill-pattern", message));
            }
        }
    }
    patterns
}

/// Reads patterns of tools.
pub(crate) fn read_tool_patterns(
    texts: &[TextField<'_>],
    findings: &mut Findings<'_>,
) -> Vec<ToolPattern> {
    let mut patterns = Vec::with_capacity(texts.len());
    for text in texts {
        match ToolPattern::parse(text.text) {
            Ok(pattern) => patterns.push(pattern),
            Err(problem) => {
                let message = format!("the pattern of tools {} {problem}", quoted(text.text));
                findings.error(text.span, Problem::new("invalid-tool", message));
            }
        }
    }
    patterns
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn named_servers_are_all_that_a_pattern_can_mean() {
        let one = ToolPattern::parse("github.search_*").unwrap();
        assert!(one.grants("github", "search_issues") && one.grants("github", "search_"));
        assert!(!one.grants("github", "delete") && !one.grants("gitlab", "search_issues"));
        assert_eq!((one.server(), one.to_string().as_str()), ("github", "github.search_*"));
        let all = ToolPattern::parse("crm-2.*").unwrap();
        assert!(all.grants("crm-2", "a.b/c") && !all.grants("crm", "2.a"));
        for text in
            ["", "*", "*.x", "git*.x", "github", "github.", ".x", "GitHub.x", "a.b c", "a.\u{e9}"]
        {
            assert!(ToolPattern::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn names_of_servers_are_plain() {
        for (name, is_one) in
            [("a", true), ("crm-2", true), ("2a", false), ("a-", false), ("A", false), ("", false)]
        {
            assert_eq!(is_tool_server(name), is_one, "{name:?}");
        }
        assert!(is_tool_server(&"a".repeat(32)) && !is_tool_server(&"a".repeat(33)));
    }

    #[test]
    fn stars_match_any_signs_in_bounded_time() {
        for (glob, name, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("*a*b", "xaxaxb", true),
            ("a**", "a", true),
            ("ab", "abc", false),
        ] {
            assert_eq!(ToolGlob::parse(glob).unwrap().matches(name), expected, "{glob} {name}");
        }
        let slow = ToolGlob::parse(&"a*".repeat(60)).unwrap();
        assert!(!slow.matches(&format!("{}b", "a".repeat(59))));
    }

    proptest! {
        /// Compared with the definition.
        #[test]
        fn globs_mean_what_their_definition_says(glob in "[ab*]{1,8}", name in "[ab]{0,8}") {
            fn slow(glob: &[u8], name: &[u8]) -> bool {
                match glob.split_first() {
                    None => name.is_empty(),
                    Some((b'*', rest)) => (0..=name.len()).any(|at| slow(rest, &name[at..])),
                    Some((sign, rest)) => name.first() == Some(sign) && slow(rest, &name[1..]),
                }
            }
            let expected = slow(glob.as_bytes(), name.as_bytes());
            prop_assert_eq!(ToolGlob::parse(&glob).unwrap().matches(&name), expected);
        }
    }
}
