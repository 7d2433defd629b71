//! What a user types to name a source, and what a lock has of it.
//!
//! INVARIANT(no-secrets-in-names): what a source calls itself has no credentials, so it can be written into a lock.
//! What is printed and logged has no queries either.

use std::fmt;
use std::path::PathBuf;

use crate::error::{SourceError, shown};
use crate::store::place::{self, StorePlace};
use crate::web_url::{UrlCredentials, WebUrl};

/// Endings of names of archives.
const ARCHIVES: [&str; 6] = [".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"];

/// Where packages of npm come from, unless the user names another registry.
pub const NPM_REGISTRY: &str = "https://registry.npmjs.org";

/// What kind of thing a source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceKind {
    /// A repository of git, over HTTPS.
    Git(WebUrl),
    /// A package of a registry of npm.
    Npm {
        /// Its name, perhaps with a scope.
        package: String,
    },
    /// An archive on a server.
    Archive(WebUrl),
    /// An artifact of an OCI registry.
    Oci {
        /// The registry.
        registry: WebUrl,
        /// The repository in it.
        repository: String,
    },
    /// Packages in an object store, or an archive in it.
    Store {
        /// The bucket.
        bucket: String,
        /// The beginning of the keys of packages, or the key of an archive. Without slashes at its ends.
        key: String,
    },
    /// An archive on this machine.
    File(PathBuf),
    /// A folder on this machine.
    Folder(PathBuf),
}

/// A source of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSource {
    /// What it is.
    pub kind: SourceKind,
    /// The branch, tag, commit, version or digest that was asked for; `None` for the usual one.
    pub reference: Option<String>,
    /// The folder in it, without slashes at its ends; empty for all of it.
    pub path: String,
    /// Credentials in the URL that the user typed.
    pub credentials: Option<UrlCredentials>,
}

impl SkillSource {
    /// Reads what a user typed.
    ///
    /// # Errors
    ///
    /// Says what would be right.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let text = text.trim();
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(SourceError::NotASource(
                "the source is empty or has control characters".to_owned(),
            ));
        }
        if let Some(rest) = text.strip_prefix("npm:") {
            return npm(rest);
        }
        if let Some(rest) = text.strip_prefix("oci://") {
            return oci(rest);
        }
        if let Some(rest) = text.strip_prefix("s3://") {
            let StorePlace { bucket, key } = place::parse(rest)?;
            let (bucket, key) = (bucket.to_owned(), key.to_owned());
            return Ok(of_kind(SourceKind::Store { bucket, key }));
        }
        if let Some(rest) = text.strip_prefix("github:") {
            return hosted("github.com", rest);
        }
        if let Some(rest) = text.strip_prefix("gitlab:") {
            return hosted("gitlab.com", rest);
        }
        if let Some(rest) = text.strip_prefix("git+") {
            return git_url(rest);
        }
        if text.starts_with("git@") || text.starts_with("ssh://") || text.starts_with("git://") {
            return Err(SourceError::NotASource(format!(
                "`{}` is not fetched over SSH or the protocol of git: write `https://HOST/REPOSITORY.git`",
                shown(&without_user(text))
            )));
        }
        if text.contains("://") {
            return url(text);
        }
        if is_path(text) {
            return Ok(local(text));
        }
        hosted("github.com", text)
    }

    /// The source without reference and path, as a lock has it: without a query that has a secret.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.kind {
            SourceKind::Git(url) => format!("git+{url}"),
            SourceKind::Archive(url) if self.hides_query() => url.named(),
            SourceKind::Archive(url) => url.to_string(),
            SourceKind::Npm { package } => format!("npm:{package}"),
            SourceKind::Oci { registry, repository } => {
                let scheme = if registry.is_encrypted { "oci://" } else { "oci://http:" };
                format!("{scheme}{}/{repository}", registry.authority)
            }
            SourceKind::Store { bucket, key } if key.is_empty() => format!("s3://{bucket}"),
            SourceKind::Store { bucket, key } => format!("s3://{bucket}/{key}"),
            SourceKind::File(path) | SourceKind::Folder(path) => path.display().to_string(),
        }
    }

    /// True if the name is not enough to get the source again, because the query of its URL has a secret.
    #[must_use]
    pub fn hides_query(&self) -> bool {
        matches!(&self.kind, SourceKind::Archive(url) if url.has_secret_query())
    }

    /// The place that requests go to, and that may get the user's token; `None` for files of this machine, packages of npm,
    /// and object stores, which have credentials of another kind.
    #[must_use]
    pub const fn url(&self) -> Option<&WebUrl> {
        match &self.kind {
            SourceKind::Git(url) | SourceKind::Archive(url) => Some(url),
            SourceKind::Oci { registry, .. } => Some(registry),
            SourceKind::Npm { .. }
            | SourceKind::Store { .. }
            | SourceKind::File(_)
            | SourceKind::Folder(_) => None,
        }
    }

    /// The same source with a folder in it.
    ///
    /// # Errors
    ///
    /// The path leads elsewhere.
    pub fn below(mut self, path: &str) -> Result<Self, SourceError> {
        self.path = clean_path(path)?;
        Ok(self)
    }
}

/// As people read it.
impl fmt::Display for SkillSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.kind {
            SourceKind::Archive(url) => url.named(),
            _ => self.name(),
        };
        f.write_str(&shown(name.strip_prefix("git+").unwrap_or(&name)))?;
        if !self.path.is_empty() {
            write!(f, ", folder {}", shown(&self.path))?;
        }
        match &self.reference {
            Some(reference) => write!(f, ", at {}", shown(reference)),
            None => Ok(()),
        }
    }
}

const fn of_kind(kind: SourceKind) -> SkillSource {
    SkillSource { kind, reference: None, path: String::new(), credentials: None }
}

fn clean_path(path: &str) -> Result<String, SourceError> {
    let path = path.trim_matches('/');
    let is_odd = |segment: &str| matches!(segment, "" | "." | "..") || segment.contains('\\');
    if !path.is_empty() && path.split('/').any(is_odd) {
        return Err(SourceError::NotASource(format!(
            "`{}` is no path of a folder in the source",
            shown(path)
        )));
    }
    Ok(path.to_owned())
}

fn without_user(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}://{rest}") }
}

/// A path as a shell has it, or a name of an archive.
fn is_path(text: &str) -> bool {
    matches!(text, "." | "..")
        || ["./", "../", "/", "~"].iter().any(|start| text.starts_with(start))
        || is_archive(text)
        || !text.contains('/')
}

/// True for the name of an archive.
pub(crate) fn is_archive(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| text.ends_with(ending))
}

fn local(text: &str) -> SkillSource {
    let path = PathBuf::from(text);
    of_kind(if is_archive(text) { SourceKind::File(path) } else { SourceKind::Folder(path) })
}

/// `owner/repo[/path][@ref]`, or `#ref` at its end.
fn hosted(host: &str, text: &str) -> Result<SkillSource, SourceError> {
    let (text, reference) = match text.split_once('@').or_else(|| text.split_once('#')) {
        Some((before, reference)) => (before, Some(checked_reference(reference)?)),
        None => (text, None),
    };
    let mut parts = text.trim_end_matches('/').splitn(3, '/');
    let (owner, repository) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let is_name = |name: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !matches!(name, "" | "." | "..") && name.len() <= 100 && name.bytes().all(is_plain)
    };
    if !is_name(owner) || !is_name(repository) {
        return Err(SourceError::NotASource(format!(
            "`{}` names no source: write `owner/repo[/path][@ref]`, a URL (`https://…`), `npm:NAME`, `oci://…`, `s3://…`, \
             or a path that begins with `./` or `/`",
            shown(text)
        )));
    }
    let path = clean_path(parts.next().unwrap_or_default())?;
    let repository = repository.strip_suffix(".git").unwrap_or(repository);
    let (url, _) = WebUrl::parse(&format!("https://{host}/{owner}/{repository}.git"))?;
    Ok(SkillSource { reference, path, ..of_kind(SourceKind::Git(url)) })
}

fn checked_reference(text: &str) -> Result<String, SourceError> {
    let is_odd = |byte: u8| byte <= b' ' || byte == 0x7f || b"~^:?*[\\".contains(&byte);
    if text.is_empty() || text.len() > 255 || text.contains("..") || text.bytes().any(is_odd) {
        return Err(SourceError::NotASource(format!(
            "`{}` is no name of a branch, a tag, a commit or a version",
            shown(text)
        )));
    }
    Ok(text.to_owned())
}

/// A URL of a repository, with its reference after `#`.
fn git_url(text: &str) -> Result<SkillSource, SourceError> {
    let (plain, reference) = match text.split_once('#') {
        Some((plain, reference)) => (plain, Some(checked_reference(reference)?)),
        None => (text, None),
    };
    let (mut url, credentials) = WebUrl::parse(plain)?;
    url.path = url.plain_path().trim_end_matches('/').to_owned();
    Ok(SkillSource { reference, credentials, ..of_kind(SourceKind::Git(url)) })
}

/// A URL: of an archive by its ending, else of a repository or of a page that shows a folder of one.
fn url(text: &str) -> Result<SkillSource, SourceError> {
    let (url, credentials) = WebUrl::parse(text)?;
    if is_archive(url.plain_path()) {
        return Ok(SkillSource { credentials, ..of_kind(SourceKind::Archive(url)) });
    }
    let is_forge = matches!(url.host(), "github.com" | "gitlab.com");
    let page =
        url.plain_path().split_once("/-/tree/").or_else(|| url.plain_path().split_once("/tree/"));
    if let Some((repository, rest)) = page.filter(|_| is_forge) {
        let (reference, path) = rest.split_once('/').unwrap_or((rest, ""));
        let reference = Some(checked_reference(reference)?);
        let path = clean_path(path)?;
        let repository = repository.trim_end_matches('/');
        let repository = repository.strip_suffix(".git").unwrap_or(repository);
        let kind = SourceKind::Git(WebUrl { path: format!("{repository}.git"), ..url.clone() });
        return Ok(SkillSource { reference, path, credentials, ..of_kind(kind) });
    }
    let mut source = git_url(text)?;
    if let SourceKind::Git(url) = &mut source.kind
        && is_forge
        && !url.path.ends_with(".git")
    {
        url.path.push_str(".git");
    }
    Ok(source)
}

fn npm(text: &str) -> Result<SkillSource, SourceError> {
    let scoped = text.starts_with('@');
    let rest = text.strip_prefix('@').unwrap_or(text);
    let (name, version) = match rest.split_once('@') {
        Some((name, version)) => (name, Some(checked_version(version)?)),
        None => (rest, None),
    };
    let is_part = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        !part.is_empty() && !part.starts_with('.') && part.bytes().all(is_plain)
    };
    let parts: Vec<&str> = name.split('/').collect();
    let wanted = if scoped { 2 } else { 1 };
    if parts.len() != wanted || name.len() > 214 || !parts.iter().all(|part| is_part(part)) {
        return Err(SourceError::NotASource(format!(
            "`npm:{}` names no package: write `npm:NAME[@VERSION]` or `npm:@SCOPE/NAME[@VERSION]`",
            shown(text)
        )));
    }
    let package = if scoped { format!("@{name}") } else { name.to_owned() };
    Ok(SkillSource { reference: version, ..of_kind(SourceKind::Npm { package }) })
}

/// A version, a range or a tag of npm. It never becomes a part of a path.
fn checked_version(text: &str) -> Result<String, SourceError> {
    let is_plain = |byte: u8| (b'!'..=b'~').contains(&byte);
    if text.is_empty() || text.len() > 100 || !text.bytes().all(is_plain) {
        return Err(SourceError::NotASource(format!("`{}` is no version", shown(text))));
    }
    Ok(text.to_owned())
}

/// `HOST/REPOSITORY[:TAG][@DIGEST]`.
fn oci(text: &str) -> Result<SkillSource, SourceError> {
    let wrong = || {
        SourceError::NotASource(format!(
            "`oci://{}` names no artifact: write `oci://HOST/REPOSITORY[:TAG]` or `…@sha256:DIGEST`",
            shown(&without_user(text))
        ))
    };
    let (rest, scheme) = match text.strip_prefix("http:") {
        Some(rest) => (rest.trim_start_matches('/'), "http"),
        None => (text, "https"),
    };
    let (authority, rest) = rest.split_once('/').ok_or_else(wrong)?;
    let (registry, credentials) = WebUrl::parse(&format!("{scheme}://{authority}/"))?;
    let (repository, reference) = match rest.split_once('@') {
        Some((repository, digest)) => {
            let hex = digest.strip_prefix("sha256:").ok_or_else(wrong)?;
            if hex.len() != 64 || !hex.bytes().all(|byte| b"0123456789abcdef".contains(&byte)) {
                return Err(wrong());
            }
            (repository.split(':').next().unwrap_or_default(), Some(digest.to_owned()))
        }
        None => match rest.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag.to_owned())),
            None => (rest, None),
        },
    };
    let is_tag = |tag: &String| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        !tag.is_empty() && tag.len() <= 128 && tag.bytes().all(is_plain)
    };
    let is_part = |part: &str| {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
        !matches!(part, "" | "." | "..") && part.bytes().all(is_plain)
    };
    if !repository.split('/').all(is_part) || reference.as_ref().is_some_and(|tag| !is_tag(tag)) {
        return Err(wrong());
    }
    let kind = SourceKind::Oci { registry, repository: repository.to_owned() };
    Ok(SkillSource { reference, credentials, ..of_kind(kind) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Option<String>, String) {
        let source = SkillSource::parse(text).unwrap();
        (source.name(), source.reference.clone(), source.path)
    }

    #[test]
    fn what_users_type_is_read() {
        let git = |url: &str| format!("git+https://{url}");
        let at = |text: &str| Some(text.to_owned());
        for (text, expected) in [
            ("a/b", (git("github.com/a/b.git"), None, "")),
            ("a/b@v1", (git("github.com/a/b.git"), at("v1"), "")),
            (
                "a/b/skills/pdf@feature/x",
                (git("github.com/a/b.git"), at("feature/x"), "skills/pdf"),
            ),
            ("gitlab:a/b#main", (git("gitlab.com/a/b.git"), at("main"), "")),
            ("https://github.com/a/b", (git("github.com/a/b.git"), None, "")),
            (
                "https://github.com/a/b/tree/main/skills/x",
                (git("github.com/a/b.git"), at("main"), "skills/x"),
            ),
            ("https://gitlab.com/g/s/b/-/tree/v2/x", (git("gitlab.com/g/s/b.git"), at("v2"), "x")),
            ("https://me:pw@git.example/x.git#v2", (git("git.example/x.git"), at("v2"), "")),
            ("git+https://git.example/x.zip", (git("git.example/x.zip"), None, "")),
            ("https://a.example/x.tar.gz?s=1", ("https://a.example/x.tar.gz?s=1".into(), None, "")),
            ("npm:skills", ("npm:skills".into(), None, "")),
            ("npm:@acme/skills@^1.2", ("npm:@acme/skills".into(), at("^1.2"), "")),
            ("oci://ghcr.io/acme/pdf:1.0", ("oci://ghcr.io/acme/pdf".into(), at("1.0"), "")),
            ("s3://skills/team/", ("s3://skills/team".into(), None, "")),
            ("s3://skills", ("s3://skills".into(), None, "")),
            ("./x/y", ("./x/y".into(), None, "")),
            ("dist/x.zip", ("dist/x.zip".into(), None, "")),
            ("skills", ("skills".into(), None, "")),
        ] {
            let (name, reference, path) = expected;
            assert_eq!(parsed(text), (name, reference, path.to_owned()), "{text}");
            // A lock's name means the same source.
            let again = SkillSource::parse(&parsed(text).0).unwrap();
            assert_eq!(again.kind, SkillSource::parse(text).unwrap().kind, "{text}");
        }
    }

    #[test]
    fn what_names_nothing_is_refused_without_its_secrets() {
        for text in [
            "",
            "a/../b",
            "a/b/../c",
            "git@github.com:a/b.git",
            "ssh://me:secret@h/x",
            "http://a.example/x.git",
            "npm:",
            "npm:../x",
            "npm:@a",
            "npm:a/b",
            "oci://ghcr.io",
            "oci://ghcr.io/A",
            "oci://h/x@sha256:00",
            "a/b@",
            "a/b@x..y",
            "a/b@x y",
            "a\u{7}/b",
            "file:///etc/passwd",
            "oci://h/x:../y",
            "s3://id:secret@skills/x",
            "s3://skills/../x",
        ] {
            let wrong = SkillSource::parse(text).unwrap_err().to_string();
            assert!(!wrong.contains("secret") && !wrong.contains('\u{7}'), "{wrong}");
        }
    }

    #[test]
    fn no_secrets_in_names() {
        for text in ["https://me:secret@git.example/x.git", "oci://me:secret@reg.example/x:1"] {
            let source = SkillSource::parse(text).unwrap();
            let all = format!("{source} {source:?} {}", source.name());
            assert!(!all.contains("secret") && !all.contains("me:"), "{all}");
            assert!(source.credentials.is_some());
        }
        let signed = SkillSource::parse("https://a.example/x.zip?v=1&X-Amz-Signature=abc").unwrap();
        assert_eq!(signed.name(), "https://a.example/x.zip");
        assert_eq!(signed.to_string(), "https://a.example/x.zip");
        assert!(signed.hides_query());
        let plain = SkillSource::parse("https://a.example/x.zip?v=1").unwrap();
        assert_eq!(plain.name(), "https://a.example/x.zip?v=1");
        assert_eq!(plain.to_string(), "https://a.example/x.zip");
        assert!(!plain.hides_query());
    }
}
