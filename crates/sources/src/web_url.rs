//! URLs of sources, read strictly, with credentials taken out of them.

use std::fmt;

use crate::error::{SourceError, shown};

/// A user and a password or token. `Debug` shows neither.
#[derive(Clone, PartialEq, Eq)]
pub struct UrlCredentials {
    /// `None` for a token that is enough alone.
    user: Option<String>,
    secret: String,
}

/// The user of a token that is enough alone: GitHub, GitLab and Gitea take one as the password of any user.
const ANY_USER: &str = "x-access-token";

/// What a name of a parameter has in it if its value is a secret. `sig` is in `signature`, too.
const SECRET_WORDS: [&str; 7] = ["token", "sig", "key", "secret", "credential", "password", "auth"];

impl UrlCredentials {
    /// Those of a token: `USER:SECRET`, or a token that is enough alone.
    #[must_use]
    pub fn of_token(token: &str) -> Self {
        let token = token.trim();
        match token.split_once(':') {
            Some((user, secret)) => Self { user: Some(user.to_owned()), secret: secret.to_owned() },
            None => Self { user: None, secret: token.to_owned() },
        }
    }

    pub(crate) fn basic(&self) -> String {
        let pair = format!("{}:{}", self.user.as_deref().unwrap_or(ANY_USER), self.secret);
        format!("Basic {}", data_encoding::BASE64.encode(pair.as_bytes()))
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.secret)
    }

    /// For servers that ask for nothing themselves: `Basic` if a user was named, else `Bearer`.
    pub(crate) fn of_header(&self) -> String {
        if self.user.is_some() { self.basic() } else { self.bearer() }
    }

    /// False for what no header can carry.
    #[must_use]
    pub fn is_sendable(&self) -> bool {
        let is_plain = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        is_plain(self.user.as_deref().unwrap_or_default())
            && is_plain(&self.secret)
            && !self.secret.is_empty()
    }
}

impl fmt::Debug for UrlCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UrlCredentials(..)")
    }
}

/// A URL without credentials and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebUrl {
    pub(crate) is_encrypted: bool,
    /// Host in lowercase, with its port if the URL has one.
    pub(crate) authority: String,
    /// Path and query, beginning with `/`.
    pub(crate) path: String,
}

impl WebUrl {
    /// Reads a URL, and the credentials in it.
    ///
    /// # Errors
    ///
    /// Other schemes than `https`, and `http` for another host than this machine.
    pub fn parse(text: &str) -> Result<(Self, Option<UrlCredentials>), SourceError> {
        let wrong = |why: &str| SourceError::NotASource(format!("the URL {why}"));
        if text.contains('\\') {
            // Some parsers read it as a slash, and so another host.
            return Err(wrong("has a backslash"));
        }
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("has no scheme"))?;
        let is_encrypted = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            other => {
                let other = shown(other);
                return Err(wrong(&format!("begins with `{other}://`: write `https://`")));
            }
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at_checked(at).unwrap_or((rest, "")),
            None => (rest, ""),
        };
        let (credentials, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => (Some(credentials_in(user)), authority),
            None => (None, authority),
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte);
        if authority.is_empty() || !authority.bytes().all(is_plain) {
            return Err(wrong(
                "has no host of letters, digits and dashes (addresses of IPv6 are not read)",
            ));
        }
        let is_allowed = |byte: u8| (b'!'..=b'~').contains(&byte) && byte != b'\\';
        if !path.bytes().all(is_allowed) {
            return Err(wrong("has characters that must be percent-encoded"));
        }
        if credentials.as_ref().is_some_and(|found| !found.is_sendable()) {
            return Err(wrong("has credentials that cannot be sent"));
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let authority = authority.to_ascii_lowercase();
        let url = Self { is_encrypted, authority, path };
        if !is_encrypted && !url.is_this_machine() {
            return Err(wrong(
                "begins with `http://`, which is only for this machine: write `https://`",
            ));
        }
        Ok((url, credentials))
    }

    /// The host, without its port.
    #[must_use]
    pub fn host(&self) -> &str {
        self.authority.split(':').next().unwrap_or_default()
    }

    fn is_this_machine(&self) -> bool {
        matches!(self.host(), "localhost" | "localhost.localdomain")
            || self.host().ends_with(".localhost")
    }

    /// The scheme and the authority.
    #[must_use]
    pub fn origin(&self) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }

    /// The path without the query.
    pub(crate) fn plain_path(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// The URL without its query, which may hold a signature.
    #[must_use]
    pub fn named(&self) -> String {
        format!("{}{}", self.origin(), self.plain_path())
    }

    /// True if a parameter in the query is a secret by its name.
    pub(crate) fn has_secret_query(&self) -> bool {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        query.split(['&', ';']).any(|parameter| {
            let name = parameter.split('=').next().unwrap_or_default();
            let name = percent_decoded(name).to_ascii_lowercase();
            name.starts_with("x-amz-") || SECRET_WORDS.iter().any(|word| name.contains(word))
        })
    }

    /// The URL that a redirect from this one leads to.
    pub(crate) fn follow(&self, location: &str) -> Result<Self, SourceError> {
        if location.starts_with("//") {
            return Err(SourceError::NotASource("the redirect has no scheme".to_owned()));
        }
        if location.starts_with('/') {
            return Ok(Self::parse(&format!("{}{location}", self.origin()))?.0);
        }
        if location.contains("://") {
            return Ok(Self::parse(location)?.0);
        }
        let folder = self.plain_path().rsplit_once('/').map_or("", |(folder, _)| folder);
        Ok(Self::parse(&format!("{}{folder}/{location}", self.origin()))?.0)
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path)
    }
}

fn credentials_in(user: &str) -> UrlCredentials {
    match user.split_once(':') {
        Some((user, secret)) => {
            UrlCredentials { user: Some(percent_decoded(user)), secret: percent_decoded(secret) }
        }
        None => UrlCredentials { user: None, secret: percent_decoded(user) },
    }
}

fn percent_decoded(text: &str) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%');
        let byte = code.and_then(|code| data_encoding::HEXLOWER_PERMISSIVE.decode(code).ok());
        if let Some(byte) = byte {
            decoded.extend(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            decoded.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_taken_out_and_never_shown() {
        let (url, found) = WebUrl::parse("https://me:p%40ss@Git.Example:8443/a/b.git#x").unwrap();
        assert_eq!(url.to_string(), "https://git.example:8443/a/b.git");
        let found = found.unwrap();
        assert_eq!(found.basic(), "Basic bWU6cEBzcw==");
        assert_eq!(found.of_header(), found.basic());
        assert_eq!(UrlCredentials::of_token("abc").of_header(), "Bearer abc");
        assert_eq!(format!("{found:?}"), "UrlCredentials(..)");
        let (_, alone) = WebUrl::parse("https://ghp_abc@github.com/a/b").unwrap();
        assert_eq!(alone, Some(UrlCredentials::of_token("ghp_abc\n")));
    }

    #[test]
    fn secrets_in_a_query_are_known_by_their_names() {
        for (path, is_secret) in [
            ("x.zip", false),
            ("x.zip?s=1&v=token", false),
            ("x.zip?v=1&X-Amz-Date=2", true),
            ("x.zip?private_TOKEN=1", true),
            ("x.zip?v=1;sig=2", true),
            ("x.zip?%74oken=1", true),
            ("token/x.zip", false),
        ] {
            let (url, _) = WebUrl::parse(&format!("https://a.example/{path}")).unwrap();
            assert_eq!(url.has_secret_query(), is_secret, "{path}");
        }
    }

    #[test]
    fn insecure_and_odd_urls_are_refused() {
        for text in [
            "http://git.example/a",
            "ftp://a.example/b",
            "git://a.example/b",
            "file:///etc/passwd",
            "https:///a",
            "https://a b/c",
            "https://[::1]/a",
            "https://a.example/\u{e9}",
            "https://a.example/x y",
            "https://a.example\\@b.example/",
            "nothing",
        ] {
            assert!(WebUrl::parse(text).is_err(), "{text}");
        }
        assert!(WebUrl::parse("http://localhost:8080/a").is_ok());
    }

    #[test]
    fn redirects_stay_readable() {
        let (url, _) = WebUrl::parse("https://a.example/x/y?q=1").unwrap();
        assert_eq!(url.follow("/z").unwrap().to_string(), "https://a.example/z");
        assert_eq!(url.follow("z").unwrap().to_string(), "https://a.example/x/z");
        assert_eq!(url.follow("https://b.example/z").unwrap().to_string(), "https://b.example/z");
        assert!(url.follow("http://b.example/z").is_err() && url.follow("//b.example").is_err());
        assert_eq!(url.named(), "https://a.example/x/y");
    }
}
