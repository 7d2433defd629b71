//! Files that look like secrets, which nobody should publish by mistake.
//!
//! This is a look at names and at forms that are hard to mistake. It finds what is forgotten, not what is hidden.

use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;
use wardian_skills::registry::folders::snapshot::Snapshot;

/// Names of files that hold secrets.
const NAMES: [&str; 12] = [
    "credentials",
    "credentials.json",
    "htpasswd",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "netrc",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
];

/// Ends of names of such files.
const ENDINGS: [&str; 9] =
    [".env", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx", ".tfstate"];

/// How tokens begin, and how many letters, digits, `_` and `-` follow at least.
const TOKENS: [(&str, usize); 7] = [
    ("AKIA", 16),
    ("ghp_", 36),
    ("github_pat_", 22),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("sk-ant-", 24),
    ("AIza", 35),
];

/// Refuses to publish files that look like secrets, unless the user allows each.
pub(crate) fn ensure_no_secrets(skill: &Snapshot, allowed: &[String]) -> Result<(), Failed> {
    let unknown = allowed.iter().find(|path| skill.read_file(path).is_err());
    if let Some(path) = unknown {
        return Err(Failed::usage(format!(
            "`--allow {}`: the skill has no such file",
            shown(path)
        )));
    }
    let suspicious = skill.contents().filter_map(|(path, content)| {
        let why = suspicion(path, content).filter(|_| !allowed.iter().any(|one| one == path))?;
        Some(format!("`{}` {why}", shown(path)))
    });
    let lines: Vec<String> = suspicious.collect();
    match lines.is_empty() {
        true => Ok(()),
        false => Err(Failed::refused(format!(
            "nothing was published: {}; remove it, or publish it with `--allow PATH`",
            lines.join(", ")
        ))),
    }
}

/// Why a file looks like a secret.
fn suspicion(path: &str, content: &[u8]) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    if NAMES.contains(&name.as_str()) || ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Some("has the name of a file with secrets");
    }
    let text = String::from_utf8_lossy(content);
    if text.contains("PRIVATE KEY-----") && text.contains("-----BEGIN ") {
        return Some("has a private key");
    }
    let is_token = |(start, length): &(&str, usize)| {
        text.match_indices(start).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let rest = text.get(at.saturating_add(start.len())..).unwrap_or_default();
            let letters = rest.bytes().take_while(|byte| is_of_token(*byte)).count();
            letters >= *length && !before.is_some_and(char::is_alphanumeric)
        })
    };
    TOKENS.iter().any(is_token).then_some("has a token of a service")
}

const fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgotten_secrets_are_found_and_other_files_are_not() {
        let long = "a".repeat(40);
        for (path, content) in [
            ("prod.env", String::new()),
            ("deploy/id_rsa", String::new()),
            ("KEYS/Server.KEY", String::new()),
            ("a.pem", "-----BEGIN EC PRIVATE KEY-----\nMHc".to_owned()),
            ("code/main.py", format!("TOKEN = 'ghp_{long}'")),
            ("notes.md", "AKIAABCDEFGHIJKLMNOP".to_owned()),
        ] {
            assert!(suspicion(path, content.as_bytes()).is_some(), "{path}");
        }
        for (path, content) in [
            ("SKILL.md", "Set AKIA… or ghp_TOKEN as the secret.".to_owned()),
            ("cert.pem", "-----BEGIN CERTIFICATE-----".to_owned()),
            ("code/environment.py", "xghp_".to_owned() + &long),
            ("keys.md", "BEGIN PRIVATE KEY".to_owned()),
        ] {
            assert_eq!(suspicion(path, content.as_bytes()), None, "{path}");
        }
    }
}
