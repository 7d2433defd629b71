//! Artifacts of OCI registries: a manifest, and layers that are archives or single files.
//!
//! INVARIANT(digests-first): a layer is unpacked only after its digest was compared with the manifest's, and a manifest
//! that was named by its digest after that one was.

use serde::Deserialize;
use wardian_vocabulary::ids::Digest;

use crate::archive::{ArchiveKind, unpack};
use crate::error::{SourceError, shown};
use crate::tree::Tree;
use crate::web::{Redirects, Web, WebRequest, WebResponse};
use crate::web_url::{UrlCredentials, WebUrl};

const MAX_MANIFEST: u64 = 4 << 20;
const MAX_TOKEN: u64 = 1 << 20;
const MAX_LAYER: u64 = 256 << 20;
const MAX_LAYERS: usize = 64;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
                        application/vnd.docker.distribution.manifest.v2+json, \
                        application/vnd.docker.distribution.manifest.list.v2+json";

/// The name of a layer's file.
const TITLE: &str = "org.opencontainers.image.title";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    #[serde(default)]
    layers: Vec<Descriptor>,
    /// Of an index.
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
}

/// A conversation with a registry about one repository.
struct Pull<'a> {
    web: &'a Web,
    registry: &'a WebUrl,
    repository: &'a str,
    credentials: Option<&'a UrlCredentials>,
    authorization: Option<String>,
}

/// Adds the files of an artifact to a tree. Returns the digest of its manifest.
pub(crate) fn fetch(
    web: &Web,
    registry: &WebUrl,
    repository: &str,
    reference: &str,
    credentials: Option<&UrlCredentials>,
    tree: &mut Tree,
) -> Result<String, SourceError> {
    let mut pull = Pull { web, registry, repository, credentials, authorization: None };
    let (digest, mut manifest) = pull.manifest(reference)?;
    if manifest.layers.is_empty() && !manifest.manifests.is_empty() {
        let [only] = manifest.manifests.as_slice() else {
            let problem = "the artifact is a list of several: name one of them by its digest";
            return Err(SourceError::damaged("the artifact", problem));
        };
        manifest = pull.manifest(&only.digest.clone())?.1;
    }
    if manifest.layers.is_empty() || manifest.layers.len() > MAX_LAYERS {
        let problem = format!("it has {} layers, not 1 to {MAX_LAYERS}", manifest.layers.len());
        return Err(SourceError::damaged("the artifact", problem));
    }
    for layer in &manifest.layers {
        let bytes = pull.layer(layer)?;
        add_layer(layer, bytes, tree)?;
    }
    Ok(digest)
}

fn add_layer(layer: &Descriptor, bytes: Vec<u8>, tree: &mut Tree) -> Result<(), SourceError> {
    let title = layer.annotations.get(TITLE);
    let is_packed = ["tar", "zip"].iter().any(|word| layer.media_type.contains(word))
        || layer
            .annotations
            .get("io.deis.oras.content.unpack")
            .is_some_and(|value| value == "true");
    let is_archive = ArchiveKind::of(&bytes).is_some();
    match title {
        Some(title) if !(is_packed && is_archive) => tree.add(title, bytes),
        _ if is_archive => unpack(&bytes, tree),
        _ => {
            let kind = shown(&layer.media_type);
            let problem = format!("a layer of the kind `{kind}` is no archive and has no name");
            Err(SourceError::damaged("the artifact", problem))
        }
    }
}

impl Pull<'_> {
    fn manifest(&mut self, reference: &str) -> Result<(String, Manifest), SourceError> {
        let path = format!("manifests/{reference}");
        let response = self.get(&path, Some(ACCEPTED), Redirects::SameHost)?.expect_ok()?;
        let kind = response.content_type();
        let bytes = response.whole(MAX_MANIFEST)?;
        let found = format!("sha256:{}", Digest::of(&bytes));
        if reference.starts_with("sha256:") && reference != found {
            return Err(SourceError::Digest {
                what: "the manifest".to_owned(),
                expected: reference.to_owned(),
                found,
            });
        }
        let is_known = [MANIFEST, INDEX].contains(&kind.as_str())
            || kind.starts_with("application/vnd.docker.distribution.manifest")
            || kind == "application/json";
        if !is_known {
            let problem = format!("the manifest is of the kind `{}`", shown(&kind));
            return Err(SourceError::damaged("the artifact", problem));
        }
        let manifest = serde_json::from_slice(&bytes)
            .map_err(|fault| SourceError::damaged("the manifest", fault))?;
        Ok((found, manifest))
    }

    fn layer(&mut self, layer: &Descriptor) -> Result<Vec<u8>, SourceError> {
        let hex = layer.digest.strip_prefix("sha256:").and_then(|hex| Digest::parse(hex).ok());
        let Some(expected) = hex else {
            return Err(SourceError::damaged("the manifest", "a digest is not one of SHA-256"));
        };
        if layer.size > MAX_LAYER {
            return Err(SourceError::TooLarge(format!("a layer of {} bytes", layer.size)));
        }
        let path = format!("blobs/{}", layer.digest);
        let response = self.get(&path, None, Redirects::KnownContent)?.expect_ok()?;
        let bytes = response.whole(layer.size)?;
        let found = Digest::of(&bytes);
        if found != expected {
            return Err(SourceError::Digest {
                what: "a layer".to_owned(),
                expected: expected.to_string(),
                found: found.to_string(),
            });
        }
        Ok(bytes)
    }

    /// Sends a request, and once more with a token if the registry asks for one.
    fn get(
        &mut self,
        path: &str,
        accept: Option<&str>,
        redirects: Redirects,
    ) -> Result<WebResponse<'_>, SourceError> {
        let mut url = self.registry.clone();
        url.path = format!("/v2/{}/{path}", self.repository);
        let accept = accept.map(|accept| ("accept".to_owned(), accept.to_owned()));
        let request = |authorization: Option<String>| WebRequest {
            headers: accept.clone().into_iter().collect(),
            authorization,
            redirects,
            ..WebRequest::get(url.clone())
        };
        let response = self.web.send(request(self.authorization.clone()), self.registry)?;
        if response.status() != 401 || self.authorization.is_some() {
            return Ok(response);
        }
        let challenge = response.header("www-authenticate").unwrap_or_default().to_owned();
        drop(response);
        self.authorization = self.answer(&challenge)?;
        self.web.send(request(self.authorization.clone()), self.registry)
    }

    /// The answer to a challenge: the credentials, or a token that a server gives for them.
    fn answer(&self, challenge: &str) -> Result<Option<String>, SourceError> {
        let (scheme, fields) = challenge.split_once(' ').unwrap_or((challenge, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Ok(self.credentials.map(UrlCredentials::basic));
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Ok(None);
        }
        let realm = field(fields, "realm").unwrap_or_default();
        let (mut url, _) = WebUrl::parse(&realm)?;
        let service = field(fields, "service").unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/".contains(&byte);
        if !service.bytes().all(is_plain) {
            return Ok(None);
        }
        let joint = if url.path.contains('?') { '&' } else { '?' };
        let scope = format!("repository:{}:pull", self.repository);
        url.path = format!("{}{joint}service={service}&scope={scope}", url.path);
        let is_related = has_one_owner(url.host(), self.registry.host());
        let authorization = self.credentials.filter(|_| is_related).map(UrlCredentials::basic);
        let request = WebRequest { authorization, ..WebRequest::get(url) };
        let answer = self.web.send(request, self.registry)?.expect_ok()?.whole(MAX_TOKEN)?;
        let token: Token = serde_json::from_slice(&answer)
            .map_err(|fault| SourceError::damaged("the token of the registry", fault))?;
        let token = token.token.or(token.access_token).unwrap_or_default();
        Ok(Some(UrlCredentials::of_token(&format!("token:{token}")))
            .filter(UrlCredentials::is_sendable)
            .map(|token| token.bearer()))
    }
}

/// True for the same host, and for hosts below one domain of two labels: a registry and its server of tokens.
fn has_one_owner(one: &str, other: &str) -> bool {
    let domain = |host: &str| {
        let labels: Vec<&str> = host.rsplit('.').take(2).collect();
        // `co.uk` and the like have many owners.
        let is_broad = labels.get(1).is_none_or(|label| label.len() <= 3);
        (!is_broad).then(|| labels.join("."))
    };
    one == other || (domain(one).is_some() && domain(one) == domain(other))
}

/// The value of a field in a challenge: `realm="…"`.
fn field(fields: &str, name: &str) -> Option<String> {
    let start = format!("{name}=\"");
    let at = fields.find(&start)?;
    let rest = fields.get(at.checked_add(start.len())?..)?;
    rest.split('"').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_and_secrets_stay_with_their_owner() {
        let fields =
            r#"realm="https://auth.docker.io/token",service="registry.docker.io",scope="x""#;
        assert_eq!(field(fields, "realm").unwrap(), "https://auth.docker.io/token");
        assert_eq!(field(fields, "service").unwrap(), "registry.docker.io");
        assert_eq!(field(fields, "other"), None);
        assert!(has_one_owner("auth.docker.io", "registry-1.docker.io"));
        assert!(has_one_owner("ghcr.io", "ghcr.io"));
        for (one, other) in [("evil.example", "ghcr.io"), ("a.co.uk", "b.co.uk"), ("a.io", "b.io")]
        {
            assert!(!has_one_owner(one, other), "{one} {other}");
        }
    }

    fn layer(kind: &str, title: Option<&str>) -> Descriptor {
        let annotations = title.map(|title| (TITLE.to_owned(), title.to_owned()));
        Descriptor {
            media_type: kind.to_owned(),
            digest: String::new(),
            size: 0,
            annotations: annotations.into_iter().collect(),
        }
    }

    #[test]
    fn layers_are_files_or_archives_and_their_names_are_checked() {
        let mut tree = Tree::default();
        add_layer(&layer("text/markdown", Some("pdf/SKILL.md")), b"x".to_vec(), &mut tree).unwrap();
        for title in ["../x", "/x", "pdf/skill.MD"] {
            assert!(add_layer(&layer("text/plain", Some(title)), Vec::new(), &mut tree).is_err());
        }
        assert!(add_layer(&layer("text/plain", None), Vec::new(), &mut tree).is_err());
        assert_eq!(tree.files().count(), 1);
    }
}
