//! The `[permissions]` section: the hosts that a skill may reach and the secrets that it needs.

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::manifest::fields::Fields;
use crate::skill::manifest::url_pattern::UrlPattern;
use crate::skill::text::quoted;

/// Most URL patterns, and most secrets.
const MAX_ENTRIES: usize = 32;

/// Longest name of a secret, in bytes.
const MAX_SECRET: usize = 128;

/// The permissions that a skill's manifest asks for. Default: none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// The URLs that it may send requests to.
    pub network: Vec<UrlPattern>,
    /// Names of the environment variables that it needs filled with secrets.
    pub secrets: Vec<String>,
}

impl Permissions {
    pub(crate) fn read(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Self {
        let Some(section) = fields.table("permissions", findings) else {
            return Self::default();
        };
        section.warn_unknown(&["network", "secrets"], findings);

        let mut permissions = Self::default();
        for text in section.texts("network", MAX_ENTRIES, findings) {
            match UrlPattern::parse(text.text) {
                Ok(pattern) => {
                    if !pattern.is_encrypted() {
                        let message = format!("`{pattern}` is not encrypted on its way");
                        let problem = Problem::new("unencrypted", message);
                        findings
                            .warning(text.span, problem.help("use https if the host offers it"));
                    }
                    permissions.network.push(pattern);
                }
                Err(invalid) => {
                    let message =
                        format!("the URL pattern {} {}", quoted(text.text), invalid.problem);
                    let problem = Problem::new("invalid-network", message);
                    findings.error(text.span, problem.maybe_help(invalid.help));
                }
            }
        }
        for text in section.texts("secrets", MAX_ENTRIES, findings) {
            match check_secret(text.text) {
                Ok(()) => permissions.secrets.push(text.text.to_owned()),
                Err(message) => {
                    let message = format!("the secret {} {message}", quoted(text.text));
                    findings.error(text.span, Problem::new("invalid-secret", message));
                }
            }
        }
        permissions
    }
}

/// Variables that select the code to load or the target of connections, or that the sandbox sets.
/// A secret of such a name would change how programs run.
const RESERVED: [&str; 26] = [
    "PATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "SHELL",
    "USER",
    "LOGNAME",
    "IFS",
    "ENV",
    "BASH_ENV",
    "TERM",
    "TMPDIR",
    "TEMP",
    "TMP",
    "TZ",
    "LANG",
    "LANGUAGE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NETRC",
];

/// Prefixes of such names: of the dynamic loader, Python, the C library and this server.
const RESERVED_PREFIXES: [&str; 7] =
    ["LD_", "DYLD_", "PYTHON", "LC_", "MALLOC_", "GLIBC_", "WARDIAN_"];

fn check_secret(name: &str) -> Result<(), &'static str> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let upper = name.to_ascii_uppercase();
    if name.len() > MAX_SECRET {
        Err("must not be longer than 128 letters")
    } else if name.is_empty()
        || !name.chars().all(is_letter)
        || name.starts_with(|c: char| c.is_ascii_digit())
    {
        Err("must be the name of an environment variable, such as \"ACME_API_KEY\"")
    } else if RESERVED.contains(&upper.as_str())
        || RESERVED_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
    {
        Err("is the name of a variable that changes how programs run")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_names_of_environment_variables() {
        for name in ["SALESFORCE_API_KEY", "a", "_X1", "PATHOLOGY_KEY", "HOME_ASSISTANT_TOKEN"] {
            assert_eq!(check_secret(name), Ok(()), "{name}");
        }
        for name in ["", "*", "A-B", "A B", "1A", "A=B", "A\0", "É", &"A".repeat(129)] {
            assert!(check_secret(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn no_secret_can_change_how_programs_are_loaded() {
        for name in [
            "PATH",
            "Path",
            "HOME",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PYTHONHASHSEED",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "https_proxy",
            "LC_ALL",
            "WARDIAN_API_KEYS",
        ] {
            assert!(check_secret(name).is_err(), "{name}");
        }
    }
}
