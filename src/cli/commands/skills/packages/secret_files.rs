//! Files that look like secrets, which nobody should publish by mistake.
//!
//! This is a look at names and at forms that are hard to mistake. It finds what is forgotten, not what is hidden.

use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;
use wardian_skills::registry::folders::snapshot::Snapshot;

/// Names of files that hold secrets, without a dot before them.
const NAMES: [&str; 27] = [
    "credentials",
    "credentials.json",
    "env",
    "env.dev",
    "env.development",
    "env.local",
    "env.prod",
    "env.production",
    "env.staging",
    "git-credentials",
    "htpasswd",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
    "kubeconfig",
    "kubeconfig.yaml",
    "kubeconfig.yml",
    "netrc",
    "npmrc",
    "pypirc",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
];

/// Ends of names of such files.
const ENDINGS: [&str; 11] = [
    ".env",
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".kubeconfig",
    ".p12",
    ".pfx",
    ".ppk",
    ".tfvars",
    ".tfvars.json",
];

/// Begins of names of JSON files with the key of an account.
const ACCOUNTS: [&str; 3] = ["service-account", "service_account", "serviceaccount"];

/// Which bytes a token has after its begin.
#[derive(Debug, Clone, Copy)]
enum TokenBytes {
    /// `A` to `Z`, and digits.
    Capitals,
    /// Letters and digits.
    Letters,
    /// Letters, digits, `_` and `-`.
    Words,
}

/// How tokens begin, and how many of which bytes follow at least.
const TOKENS: [(&str, usize, TokenBytes); 18] = [
    ("AIza", 35, TokenBytes::Words),
    ("AKIA", 16, TokenBytes::Capitals),
    ("ASIA", 16, TokenBytes::Capitals),
    ("gho_", 36, TokenBytes::Letters),
    ("ghp_", 36, TokenBytes::Letters),
    ("ghr_", 36, TokenBytes::Letters),
    ("ghs_", 36, TokenBytes::Letters),
    ("ghu_", 36, TokenBytes::Letters),
    ("github_pat_", 22, TokenBytes::Words),
    ("glpat-", 20, TokenBytes::Words),
    ("hf_", 30, TokenBytes::Letters),
    ("npm_", 36, TokenBytes::Letters),
    ("pypi-AgE", 40, TokenBytes::Words),
    ("sk-ant-", 24, TokenBytes::Words),
    ("sk-proj-", 24, TokenBytes::Words),
    ("sk_live_", 24, TokenBytes::Letters),
    ("xoxb-", 20, TokenBytes::Words),
    ("xoxp-", 20, TokenBytes::Words),
];

/// The name of a setting whose value is a secret of 40 bytes.
const AWS_SECRET: &[u8] = b"aws_secret_access_key";

/// Passwords that stand for one in addresses that are examples.
const EXAMPLES: [&[u8]; 8] =
    [b"pass", b"password", b"passwd", b"pw", b"pwd", b"secret", b"token", b"xxx"];

/// Most bytes that are looked at for a line, a value or an address, so that all takes linear time.
const MAX_LOOK: usize = 256;

/// Bytes of a file that show whether it is text of two bytes for each character.
const SAMPLE: usize = 512;

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
    if is_secret_name(path) {
        return Some("has the name of a file with secrets");
    }
    of_text(content).or_else(|| of_text(&narrowed(content)?))
}

fn is_secret_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let bare = name.strip_prefix('.').unwrap_or(&name);
    let is_account =
        || bare.ends_with(".json") && ACCOUNTS.iter().any(|beginning| bare.starts_with(beginning));
    NAMES.contains(&bare)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name.contains(".tfstate")
        || is_account()
}

/// Why a text looks like one with a secret. It is read once.
fn of_text(text: &[u8]) -> Option<&'static str> {
    let mut before = b' ';
    for (at, byte) in text.iter().enumerate() {
        let begins_word = !before.is_ascii_alphanumeric();
        before = *byte;
        let rest = text.get(at..).unwrap_or_default();
        let rest = rest.get(..MAX_LOOK).unwrap_or(rest);
        let found = match byte {
            b'-' => is_private_key(rest).then_some("has a private key"),
            b':' => has_password(rest).then_some("has an address with a password"),
            _ if !begins_word || !byte.is_ascii_alphabetic() => None,
            _ if is_token(rest) => Some("has a token of a service"),
            _ if is_aws_secret(rest) => Some("has a secret key of a service"),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// True for the first line of a private key in any of its forms.
fn is_private_key(rest: &[u8]) -> bool {
    let line = || rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    rest.starts_with(b"-----BEGIN ") && line().windows(11).any(|part| part == b"PRIVATE KEY")
}

fn is_token(rest: &[u8]) -> bool {
    TOKENS.iter().any(|(beginning, length, bytes)| {
        let after = rest.strip_prefix(beginning.as_bytes()).and_then(|after| after.get(..*length));
        after.is_some_and(|after| after.iter().all(|byte| bytes.has(*byte)))
    })
}

impl TokenBytes {
    const fn has(self, byte: u8) -> bool {
        match self {
            Self::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Letters => byte.is_ascii_alphanumeric(),
            Self::Words => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
        }
    }
}

/// True for `aws_secret_access_key = …`, as files of settings and programs write it.
fn is_aws_secret(rest: &[u8]) -> bool {
    let Some((name, after)) = rest.split_at_checked(AWS_SECRET.len()) else { return false };
    if !name.eq_ignore_ascii_case(AWS_SECRET) {
        return false;
    }
    let is_between = |byte: &u8| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'=' | b':');
    let between = after.iter().take_while(|byte| is_between(byte)).count();
    let (between, value) = after.split_at(between);
    let is_assigned = between.iter().any(|byte| matches!(byte, b'=' | b':'));
    let is_of_value = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+');
    is_assigned && value.iter().take_while(|byte| is_of_value(byte)).count() >= 40
}

/// True for `://user:password@host`, unless the password is a word that stands for one.
fn has_password(rest: &[u8]) -> bool {
    let Some(after) = rest.strip_prefix(b"://") else { return false };
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'`<>()[]{}$*".contains(byte);
    let end = after.iter().position(ends).unwrap_or(after.len());
    let authority = after.get(..end).unwrap_or_default();
    let Some(at) = authority.iter().rposition(|byte| *byte == b'@') else { return false };
    let (user, host) = authority.split_at(at);
    let Some(colon) = user.iter().position(|byte| *byte == b':') else { return false };
    let password = user.get(colon.saturating_add(1)..).unwrap_or_default();
    let is_example = EXAMPLES.iter().any(|word| password.eq_ignore_ascii_case(word));
    host.len() > 1 && password.is_ascii() && !password.is_empty() && !is_example
}

/// A text of two bytes for each character (UTF-16) with one byte for each. `None` if it is no such text.
fn narrowed(content: &[u8]) -> Option<Vec<u8>> {
    let sample = content.get(..SAMPLE).unwrap_or(content);
    let zeros = |first: usize| {
        sample.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count() > sample.len() / 4
    };
    let is_little = content.starts_with(&[0xff, 0xfe]) || zeros(1);
    if !is_little && !content.starts_with(&[0xfe, 0xff]) && !zeros(0) {
        return None;
    }
    let narrow = |pair: &[u8]| match (pair, is_little) {
        ([letter, 0], true) | ([0, letter], false) => *letter,
        _ => u8::MAX,
    };
    Some(content.chunks_exact(2).map(narrow).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_with_secrets_are_known() {
        for path in [
            "prod.env",
            "deploy/id_rsa",
            "KEYS/Server.KEY",
            "env.local",
            "a/npmrc",
            ".npmrc",
            ".pypirc",
            "kubeconfig",
            "service-account-prod.json",
            "prod.tfvars",
            "terraform.tfstate.backup",
            "id_ed25519_sk",
            "id_ecdsa",
            "credentials",
            "credentials.json",
            "a.p12",
            "a.pfx",
            "a.jks",
        ] {
            assert_eq!(suspicion(path, b""), Some("has the name of a file with secrets"), "{path}");
        }
        for path in [
            "SKILL.md",
            "code/environment.py",
            "code/env.py",
            "id_rsa.pub",
            "service-account.md",
            "keys.md",
            "package.json",
        ] {
            assert_eq!(suspicion(path, b""), None, "{path}");
        }
    }

    #[test]
    fn forgotten_secrets_are_found() {
        let long = "a".repeat(40);
        let mut all = vec![
            "-----BEGIN EC PRIVATE KEY-----\nMHc".to_owned(),
            "x\n-----BEGIN PGP PRIVATE KEY BLOCK-----\n".to_owned(),
            "AKIAABCDEFGHIJKLMNOP".to_owned(),
            "id: ASIAABCDEFGHIJKLMNOP".to_owned(),
            format!("[default]\naws_secret_access_key = {long}\n"),
            format!("\"AWS_SECRET_ACCESS_KEY\": \"{long}/+\""),
            "git clone https://ada:Tr0ub4dor@git.example/x".to_owned(),
            "'postgres://app:hunter2@db.example:5432/sales'".to_owned(),
        ];
        for beginning in [
            "ghp_",
            "gho_",
            "ghs_",
            "ghu_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "xoxb-",
            "xoxp-",
            "npm_",
            "sk-proj-",
            "sk-ant-",
            "sk_live_",
            "hf_",
            "pypi-AgE",
            "AIza",
        ] {
            all.push(format!("TOKEN = '{beginning}{long}'"));
        }
        for text in all {
            assert!(suspicion("a.txt", text.as_bytes()).is_some(), "{text}");
            let wide = text.encode_utf16();
            let little: Vec<u8> = wide.clone().flat_map(u16::to_le_bytes).collect();
            let marked: Vec<u8> =
                std::iter::once(0xfeff).chain(wide).flat_map(u16::to_be_bytes).collect();
            assert!(suspicion("a.txt", &little).is_some(), "{text}");
            assert!(suspicion("a.txt", &marked).is_some(), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_secrets() {
        for text in [
            "Set AKIA… or ghp_TOKEN as the secret.".to_owned(),
            "-----BEGIN CERTIFICATE-----".to_owned(),
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\nPRIVATE KEY".to_owned(),
            "xghp_".to_owned() + &"a".repeat(40),
            "BEGIN PRIVATE KEY".to_owned(),
            "ASIA-PACIFIC_REGIONS_OF_THE_COMPANY".to_owned(),
            "from hf_hub import hf_download_of_all_files_of_a_repository".to_owned(),
            "npm_config_registry_and_many_other_settings_of_it".to_owned(),
            "aws_secret_access_key = YOUR_KEY".to_owned(),
            "aws_secret_access_key=os.environ['AWS_SECRET_ACCESS_KEY']".to_owned(),
            "https://user:password@host/ and https://{user}:{key}@host".to_owned(),
            "mail ada@example.com at https://example.com:8080/a@b, 12:30".to_owned(),
            "f\"https://{name}:{token}@host\" https://$USER:$KEY@host".to_owned(),
        ] {
            assert_eq!(suspicion("a.txt", text.as_bytes()), None, "{text}");
        }
        let picture: Vec<u8> = (0..4_096_u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(suspicion("a.bin", &picture), None);
    }

    /// A search from each place to the end would not end.
    #[test]
    fn what_looks_like_the_begin_of_secrets_costs_no_more_than_other_bytes() {
        for part in ["AKIA", "ghp_a", "://a:", "-----BEGIN ", "aws_secret_access_key=", "="] {
            let text = format!("x{}", part.repeat((512 << 10) / part.len()));
            assert_eq!(suspicion("a.txt", text.as_bytes()), None, "{part}");
        }
    }
}
