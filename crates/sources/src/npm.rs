//! Packages of npm: the version that was meant, its archive, and the digest that the registry promises for it.

use std::collections::BTreeMap;

use semver::{Version, VersionReq};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

use crate::error::{SourceError, shown};
use crate::network::{Redirects, WebRequest};
use crate::web::Web;
use crate::web_url::{UrlCredentials, WebUrl};

/// Largest document about a package. The largest of the public registry have some 10 MB in the short form.
const MAX_DOCUMENT: u64 = 64 << 20;

/// Largest archive of a package.
const MAX_PACKAGE: u64 = 256 << 20;

/// The short form of the document about a package.
const SHORT: &str = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8";

/// The document about a package, as far as it is read.
#[derive(Deserialize)]
struct Package<'d> {
    #[serde(default, rename = "dist-tags")]
    tags: BTreeMap<String, String>,
    #[serde(borrow)]
    versions: BTreeMap<String, &'d RawValue>,
}

#[derive(Deserialize)]
struct Published {
    dist: Archive,
    #[serde(default)]
    deprecated: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Archive {
    tarball: String,
    #[serde(default)]
    integrity: Option<String>,
    #[serde(default)]
    shasum: Option<String>,
}

/// An archive of a package, checked.
#[derive(Debug)]
pub(crate) struct FetchedPackage {
    pub(crate) bytes: Vec<u8>,
    /// The version and the digest.
    pub(crate) revision: String,
    pub(crate) notes: Vec<String>,
}

/// Gets the archive of a package. `wanted` is a version, a range or a tag.
pub(crate) fn fetch(
    web: &Web,
    registry: &WebUrl,
    package: &str,
    wanted: Option<&str>,
    credentials: Option<&UrlCredentials>,
) -> Result<FetchedPackage, SourceError> {
    let mut url = registry.clone();
    url.path =
        format!("{}/{}", registry.plain_path().trim_end_matches('/'), package.replace('/', "%2f"));
    let authorization = credentials.map(UrlCredentials::of_header);
    let request = WebRequest {
        headers: vec![("accept".to_owned(), SHORT.to_owned())],
        authorization: authorization.clone(),
        ..WebRequest::get(url.clone())
    };
    let document = web.send(request, registry)?.expect_ok()?.whole(MAX_DOCUMENT)?;
    let document: Package<'_> = serde_json::from_slice(&document)
        .map_err(|fault| SourceError::damaged("the registry's answer", fault))?;
    let version = choose(&document, package, wanted)?;
    let published = document.versions.get(&version).map_or("", |found| found.get());
    let published: Published = serde_json::from_str(published)
        .map_err(|fault| SourceError::damaged("the registry's answer", fault))?;

    let (tarball, _) = WebUrl::parse(&published.dist.tarball)?;
    let is_same = tarball.authority == registry.authority;
    let request = WebRequest {
        authorization: authorization.filter(|_| is_same),
        redirects: Redirects::KnownContent,
        ..WebRequest::get(tarball)
    };
    let bytes = web.send(request, registry)?.expect_ok()?.whole(MAX_PACKAGE)?;
    let digest = checked(&published.dist, package, &bytes)?;
    let is_deprecated =
        published.deprecated.is_some_and(|value| value != serde_json::Value::Bool(false));
    let notes = is_deprecated.then(|| format!("`{package}` {version} is deprecated by its author"));
    Ok(FetchedPackage {
        bytes,
        revision: format!("{version} {digest}"),
        notes: notes.into_iter().collect(),
    })
}

/// The version that was meant: exactly, by a tag, or the highest of a range.
fn choose(
    document: &Package<'_>,
    package: &str,
    wanted: Option<&str>,
) -> Result<String, SourceError> {
    let wanted = wanted.unwrap_or("latest");
    // A pinned revision is a version and its digest.
    let wanted = wanted.split(' ').next().unwrap_or_default();
    if document.versions.contains_key(wanted) {
        return Ok(wanted.to_owned());
    }
    if let Some(tagged) = document.tags.get(wanted)
        && document.versions.contains_key(tagged)
    {
        return Ok(tagged.clone());
    }
    let range = VersionReq::parse(wanted).ok();
    let versions = document.versions.keys().filter_map(|text| Version::parse(text).ok());
    let best = range.and_then(|range| versions.filter(|one| range.matches(one)).max());
    best.map(|version| version.to_string()).ok_or_else(|| {
        let tags: Vec<String> = document.tags.keys().take(10).map(|tag| shown(tag)).collect();
        SourceError::NotASource(format!(
            "`npm:{package}` has no version `{}`; its tags: {}",
            shown(wanted),
            tags.join(", ")
        ))
    })
}

/// Checks an archive by the strongest digest that the registry gives, which is returned.
fn checked(promised: &Archive, package: &str, bytes: &[u8]) -> Result<String, SourceError> {
    let digests = [
        ("sha512", Sha512::digest(bytes).to_vec()),
        ("sha384", Sha384::digest(bytes).to_vec()),
        ("sha256", Sha256::digest(bytes).to_vec()),
    ];
    let listed = promised.integrity.as_deref().unwrap_or_default();
    for (name, found) in digests {
        let of_kind = |one: &&str| one.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
        let Some(expected) = listed.split_whitespace().find(of_kind) else { continue };
        let expected = expected.split('?').next().unwrap_or_default().to_owned();
        let found = format!("{name}-{}", data_encoding::BASE64.encode(&found));
        return same(package, expected, found);
    }
    let Some(expected) = promised.shasum.clone() else {
        return Err(SourceError::damaged("the registry's answer", "it promises no digest"));
    };
    let mut hasher = gix_hash::hasher(gix_hash::Kind::Sha1);
    hasher.update(bytes);
    let found = hasher.try_finalize();
    let found = found.map_err(|fault| SourceError::damaged("the package", fault))?;
    same(package, format!("sha1-{}", shown(&expected)), format!("sha1-{}", found.to_hex()))
}

fn same(package: &str, expected: String, found: String) -> Result<String, SourceError> {
    if expected == found {
        return Ok(found);
    }
    Err(SourceError::Digest { what: format!("`npm:{package}`"), expected, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_tags_and_ranges_choose() {
        let text = r#"{"dist-tags":{"latest":"1.1.0","next":"2.0.0-rc.1"},"versions":{"1.0.0":{},"1.1.0":{},"1.10.0":{},"2.0.0-rc.1":{}}}"#;
        let document: Package<'_> = serde_json::from_str(text).unwrap();
        for (wanted, expected) in [
            (None, Some("1.1.0")),
            (Some("1.0.0"), Some("1.0.0")),
            (Some("1.0.0 sha512-xyz"), Some("1.0.0")),
            (Some("next"), Some("2.0.0-rc.1")),
            (Some("^1"), Some("1.10.0")),
            (Some("^3"), None),
            (Some("nothing"), None),
        ] {
            assert_eq!(choose(&document, "x", wanted).ok().as_deref(), expected, "{wanted:?}");
        }
    }

    #[test]
    fn the_strongest_digest_is_checked() {
        let archive = |integrity: Option<&str>, shasum: Option<&str>| Archive {
            tarball: String::new(),
            integrity: integrity.map(str::to_owned),
            shasum: shasum.map(str::to_owned),
        };
        let sha1 = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
        let sha512 = format!("sha512-{}", data_encoding::BASE64.encode(&Sha512::digest(b"")));
        let sha256 = format!("sha256-{}", data_encoding::BASE64.encode(&Sha256::digest(b"")));
        for (integrity, shasum, is_right) in [
            (Some(sha512.clone()), None, true),
            (Some(format!("sha1-x {sha256}?opt {sha512}")), None, true),
            (Some(format!("sha512-AAAA {sha256}")), Some(sha1), false),
            (None, Some(sha1), true),
            (None, Some("da39"), false),
            (None, None, false),
        ] {
            let promised = archive(integrity.as_deref(), shasum);
            assert_eq!(checked(&promised, "x", b"").is_ok(), is_right, "{integrity:?}");
        }
    }
}
