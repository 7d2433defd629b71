//! Names of secrets: names of environment variables that change no program.

/// Longest name of a secret, in bytes.
const MAX_SECRET: usize = 128;

/// Variables that select the code to load or the target of connections, or that the sandbox sets.
/// A secret of such a name would change how programs run.
const RESERVED: [&str; 38] = [
    "PATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "SHELL",
    "USER",
    "LOGNAME",
    "HOSTNAME",
    "IFS",
    "ENV",
    "BASH_ENV",
    "TERM",
    "TERMINFO",
    "TERMCAP",
    "TMPDIR",
    "TEMP",
    "TMP",
    "TZ",
    "TZDIR",
    "LANG",
    "LANGUAGE",
    "NLSPATH",
    "LOCPATH",
    "GCONV_PATH",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "SSLKEYLOGFILE",
    "OPENSSL_CONF",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NETRC",
    "MPLBACKEND",
    "MPLCONFIGDIR",
];

/// Prefixes of such names: of the dynamic loader, Python, the C library and this server.
const RESERVED_PREFIXES: [&str; 7] =
    ["LD_", "DYLD_", "PYTHON", "LC_", "MALLOC_", "GLIBC_", "WARDIAN_"];

/// Checks the name of a secret.
///
/// INVARIANT(harmless-names): an accepted name is an identifier, so it is a file name without a
/// path and needs no quotes; and no program reads a variable of that name by itself.
///
/// # Errors
///
/// The problem, as the end of a sentence that begins with the name.
pub fn check_secret_name(name: &str) -> Result<(), &'static str> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let upper = name.to_ascii_uppercase();
    if name.len() > MAX_SECRET {
        Err("must not be longer than 128 characters")
    } else if name.is_empty()
        || !name.chars().all(is_letter)
        || name.starts_with(|c: char| c.is_ascii_digit())
    {
        Err("must be the name of an environment variable, such as \"ACME_API_KEY\"")
    } else if RESERVED.contains(&upper.as_str())
        || RESERVED_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
    {
        Err("is a variable that changes how programs run")
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
            assert_eq!(check_secret_name(name), Ok(()), "{name}");
        }
        for name in ["", "*", "A-B", "A B", "1A", "A=B", "A\0", "../A", "É", &"A".repeat(129)] {
            assert!(check_secret_name(name).is_err(), "{name:?}");
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
            "SSLKEYLOGFILE",
        ] {
            assert!(check_secret_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn harmless_names_are_no_paths() {
        for name in [".", "..", "a/b", "..data", "a\\b", "~", "$A", "a;b", "-a"] {
            assert!(check_secret_name(name).is_err(), "{name}");
        }
    }
}
