//! What a skill wants: of the network, of secrets, of packages, and what it brings.

use std::collections::BTreeSet;

use serde::Serialize;

use wardian_formats::skill::manifest::SkillKind;
use wardian_formats::skill::manifest::secret_hosts::SecretHosts;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_skills::registry::folders::snapshot::Snapshot;

/// Most packages and scripts that are kept for showing. What is granted is bounded by the manifest, and kept whole.
const MAX_LISTED: usize = 200;

/// Most of them in a line for people. What is granted is never cut.
const MAX_IN_LINE: usize = 8;

/// Longest requirement of a package that is kept, in characters.
const MAX_REQUIREMENT: usize = 500;

/// Longest head of a script that is read, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// What a skill wants. Lists are sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Wants {
    pub(super) network: BTreeSet<String>,
    pub(super) secrets: BTreeSet<String>,
    /// Secrets that it gets as placeholders, each with the servers that get its value.
    pub(super) secret_hosts: BTreeSet<String>,
    pub(super) tools: BTreeSet<String>,
    pub(super) skills: BTreeSet<String>,
    /// Variables that callers may set for its scripts.
    pub(super) env: BTreeSet<String>,
    /// Requirements of packages, as its files have them.
    pub(super) packages: BTreeSet<String>,
    /// Programs in it, by their paths.
    pub(super) scripts: BTreeSet<String>,
    pub(super) files: usize,
    pub(super) size_bytes: u64,
}

impl Wants {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let manifest = snapshot.manifest();
        let permissions = &manifest.permissions;
        let paths = || snapshot.files().iter().map(|file| file.path.as_str());
        let is_action = manifest.kind == SkillKind::Action;
        let scripts = paths().filter(|path| is_program(path, is_action));
        let mut packages: BTreeSet<String> = BTreeSet::new();
        for path in paths() {
            if packages.len() >= MAX_LISTED {
                break;
            }
            let text =
                snapshot.read_file(path).ok().and_then(|bytes| std::str::from_utf8(bytes).ok());
            if let Some(text) = text {
                packages.extend(packages_in(path, text));
            }
        }
        packages = packages.into_iter().take(MAX_LISTED).collect();
        Self {
            network: permissions.network.iter().map(ToString::to_string).collect(),
            secrets: permissions.secret_names().into_iter().map(str::to_owned).collect(),
            secret_hosts: hosts_of(&permissions.secret_hosts),
            tools: permissions.tools.iter().map(ToString::to_string).collect(),
            skills: permissions.skills.iter().map(ToString::to_string).collect(),
            env: permissions.env.iter().cloned().collect(),
            packages,
            scripts: scripts.map(str::to_owned).take(MAX_LISTED).collect(),
            files: snapshot.files().len(),
            size_bytes: snapshot.size().as_u64(),
        }
    }

    /// Lines for people; lists that are empty are left out, except for the network.
    pub(super) fn lines(&self) -> Vec<String> {
        let list_of = |what: &str, all: &BTreeSet<String>, most: usize| {
            let shown: Vec<&str> = all.iter().map(String::as_str).take(most).collect();
            let more = all.len().saturating_sub(shown.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            (!all.is_empty()).then(|| format!("{what}: {}{more}", shown.join(", ")))
        };
        let list = |what: &str, all: &BTreeSet<String>| list_of(what, all, usize::MAX);
        let begin = |what: &str, all: &BTreeSet<String>| list_of(what, all, MAX_IN_LINE);
        let none = || Some("network: none".to_owned());
        let lines = [
            list("network", &self.network).or_else(none),
            list("secrets", &self.secrets),
            list("secrets sent to", &self.secret_hosts),
            list("tools", &self.tools),
            list("skills", &self.skills),
            list("variables", &self.env),
            begin("packages", &self.packages),
            begin("scripts", &self.scripts),
            Some(format!("size: {} files, {}", self.files, size_of(self.size_bytes))),
        ];
        lines.into_iter().flatten().collect()
    }

    /// What it wants beyond, or no longer of, what an earlier version wanted.
    pub(super) fn changes(&self, before: &Self) -> Vec<String> {
        let lists = [
            ("network", &before.network, &self.network),
            ("secret", &before.secrets, &self.secrets),
            ("to send the secret", &before.secret_hosts, &self.secret_hosts),
            ("tool", &before.tools, &self.tools),
            ("skill", &before.skills, &self.skills),
            ("variable", &before.env, &self.env),
            ("package", &before.packages, &self.packages),
        ];
        let mut lines = Vec::new();
        for (what, before, after) in lists {
            lines.extend(after.difference(before).map(|one| format!("now wants {what} {one}")));
            lines.extend(
                before.difference(after).map(|one| format!("no longer wants {what} {one}")),
            );
        }
        lines
    }
}

/// `KEY to https://a.example, https://b.example`.
fn hosts_of(secrets: &SecretHosts) -> BTreeSet<String> {
    let told = secrets.0.iter().map(|(name, hosts)| {
        let patterns: Vec<&str> = hosts.patterns.iter().map(UrlPattern::as_str).collect();
        let place = if hosts.in_body { " (in bodies, too)" } else { "" };
        format!("{name} to {}{place}", patterns.join(", "))
    });
    told.collect()
}

fn size_of(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} bytes"),
        10_240..10_485_760 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// A program by its ending. Python elsewhere than in `scripts` is the skill's own, if it is an action.
fn is_program(path: &str, is_action: bool) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "py" => !is_action || path.starts_with("scripts/"),
        "sh" | "bash" | "js" | "mjs" | "cjs" | "ts" | "rb" | "pl" | "ps1" | "bat" | "exe" => true,
        _ => false,
    }
}

/// The requirements of a `requirements.txt`, and of the head of a script; not more than are shown.
fn packages_in(path: &str, text: &str) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or_default();
    if name == "requirements.txt" {
        let lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default().trim());
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '-']));
        return lines.map(cut).take(MAX_LISTED).collect();
    }
    if !name.ends_with(".py") {
        return Vec::new();
    }
    let head = text.lines().skip_while(|line| line.trim_end() != "# /// script").skip(1);
    let mut size = 0_usize;
    let head: Vec<&str> = head
        .take_while(|line| line.trim_end() != "# ///")
        .take_while(|line| {
            size = size.saturating_add(line.len()).saturating_add(1);
            size <= MAX_HEAD
        })
        .map(|line| line.trim_start_matches('#').trim_start())
        .collect();
    if size > MAX_HEAD {
        return vec![format!("those of {path}, whose head is longer than {} KiB", MAX_HEAD >> 10)];
    }
    let parsed: Option<toml::Table> = toml::from_str(&head.join("\n")).ok();
    let listed = parsed.as_ref().and_then(|table| table.get("dependencies")?.as_array());
    let listed = listed.into_iter().flatten().filter_map(toml::Value::as_str);
    listed.map(cut).take(MAX_LISTED).collect()
}

/// A requirement, no longer than real ones are.
fn cut(requirement: &str) -> String {
    requirement.chars().take(MAX_REQUIREMENT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_where_authors_write_them() {
        let text = "requests>=2 # http\n\n# no\n-r other.txt\npandas\n";
        assert_eq!(packages_in("scripts/requirements.txt", text), ["requests>=2", "pandas"]);
        let script = "#!/usr/bin/env python3\n# /// script\n# dependencies = [\n#   \"rich\",\n# ]\n# ///\nimport rich\n";
        assert_eq!(packages_in("scripts/x.py", script), ["rich"]);
        assert!(
            packages_in("x.py", "import os").is_empty() && packages_in("x.md", script).is_empty()
        );
        let long = format!("# /// script\n#{}\n# ///\n", "x".repeat(MAX_HEAD));
        assert_eq!(packages_in("x.py", &long), ["those of x.py, whose head is longer than 64 KiB"]);
        assert_eq!(packages_in("requirements.txt", &"a\n".repeat(1_000)).len(), MAX_LISTED);
    }

    #[test]
    fn what_an_update_wants_more_is_told() {
        let set = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        let before = Wants { network: set(&["https://a.example"]), ..Wants::default() };
        let after = Wants { secrets: set(&["KEY"]), ..Wants::default() };
        assert_eq!(
            after.changes(&before),
            ["no longer wants network https://a.example", "now wants secret KEY"]
        );
        assert_eq!(after.lines(), ["network: none", "secrets: KEY", "size: 0 files, 0 bytes"]);
        let granted = Wants {
            network: (10..30).map(|number| format!("https://{number}.example")).collect(),
            secret_hosts: set(&["KEY to https://a.example"]),
            env: set(&["LANGUAGE"]),
            ..Wants::default()
        };
        let lines = granted.lines().join("\n");
        for told in ["https://29.example", "sent to: KEY to https://a.ex", "variables: LANGUAGE"] {
            assert!(lines.contains(told), "{lines}");
        }
        let changes = granted.changes(&Wants::default());
        assert_eq!(changes.len(), 22, "{changes:?}");
        assert!(changes.contains(&"now wants to send the secret KEY to https://a.example".into()));
        assert!(is_program("scripts/a.py", true) && !is_program("code/main.py", true));
    }
}
