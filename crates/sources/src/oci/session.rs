//! A conversation with a registry about one repository: tokens, manifests and blobs.

use serde::Deserialize;

use crate::error::{SourceError, shown};
use crate::network::{Redirects, WebRequest};
use crate::oci::artifact::{
    INDEX, MANIFEST, MAX_LAYER, MAX_MANIFEST, OciDescriptor, OciManifest, digest_in,
};
use crate::web::{Web, WebResponse};
use crate::web_url::{UrlCredentials, WebUrl};
use wardian_vocabulary::ids::Digest;

const MAX_TOKEN: u64 = 1 << 20;

/// Longest tag, by the specification of the distribution of images.
const MAX_TAG: usize = 128;

const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
                        application/vnd.docker.distribution.manifest.v2+json, \
                        application/vnd.docker.distribution.manifest.list.v2+json";

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
}

/// What a token is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegistryAccess {
    /// To read.
    Pull,
    /// To read and to write.
    Push,
}

/// A conversation with a registry about one repository.
pub(crate) struct RegistrySession<'a> {
    pub(crate) web: &'a Web,
    pub(crate) registry: &'a WebUrl,
    pub(crate) repository: &'a str,
    pub(crate) credentials: Option<&'a UrlCredentials>,
    access: RegistryAccess,
    authorization: Option<String>,
}

/// A manifest, as it came.
pub(crate) struct FetchedManifest {
    /// `sha256:…`, computed here.
    pub(crate) digest: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) manifest: OciManifest,
}

/// A request to a registry.
#[derive(Debug, Default)]
pub(crate) struct RegistryRequest {
    pub(crate) method: Option<&'static str>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) redirects: Option<Redirects>,
}

impl<'a> RegistrySession<'a> {
    pub(crate) const fn new(
        web: &'a Web,
        (registry, repository): (&'a WebUrl, &'a str),
        credentials: Option<&'a UrlCredentials>,
        access: RegistryAccess,
    ) -> Self {
        Self { web, registry, repository, credentials, access, authorization: None }
    }

    /// The manifest of a tag or a digest; `None` if there is none.
    pub(crate) fn find_manifest(
        &mut self,
        reference: &str,
    ) -> Result<Option<FetchedManifest>, SourceError> {
        if !is_tag(reference) && digest_in(reference).is_none() {
            let problem = format!("`{}` is no tag, and no digest of SHA-256", shown(reference));
            return Err(SourceError::NotASource(problem));
        }
        let headers = vec![("accept".to_owned(), ACCEPTED.to_owned())];
        let request = RegistryRequest { headers, ..RegistryRequest::default() };
        let response = self.send(&self.url(&format!("manifests/{reference}")), request)?;
        if response.status() == 404 {
            return Ok(None);
        }
        let response = response.expect_ok()?;
        let kind = response.content_type();
        let bytes = response.whole(MAX_MANIFEST)?;
        let digest = format!("sha256:{}", Digest::of(&bytes));
        if reference.starts_with("sha256:") && reference != digest {
            return Err(SourceError::Digest {
                what: "the manifest".to_owned(),
                expected: reference.to_owned(),
                found: digest,
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
        Ok(Some(FetchedManifest { digest, bytes, manifest }))
    }

    /// The manifest of a tag or a digest.
    pub(crate) fn manifest(&mut self, reference: &str) -> Result<FetchedManifest, SourceError> {
        let url = self.url(&format!("manifests/{reference}"));
        self.find_manifest(reference)?.ok_or_else(|| SourceError::Server {
            url: url.named(),
            problem: "does not exist, or is private (404)".to_owned(),
        })
    }

    /// The content of a layer, of at most `most` bytes.
    pub(crate) fn layer(
        &mut self,
        layer: &OciDescriptor,
        most: u64,
    ) -> Result<Vec<u8>, SourceError> {
        let Some(expected) = digest_in(&layer.digest) else {
            return Err(SourceError::damaged("the manifest", "a digest is not one of SHA-256"));
        };
        if layer.size > most.min(MAX_LAYER) {
            return Err(SourceError::TooLarge(format!("a layer of {} bytes", layer.size)));
        }
        let redirects = Some(Redirects::KnownContent);
        let request = RegistryRequest { redirects, ..RegistryRequest::default() };
        let response = self.send(&self.url(&format!("blobs/{}", layer.digest)), request)?;
        let bytes = response.expect_ok()?.whole(layer.size)?;
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

    /// The URL of something in the repository.
    pub(crate) fn url(&self, path: &str) -> WebUrl {
        let mut url = self.registry.clone();
        url.path = format!("/v2/{}/{path}", self.repository);
        url
    }

    /// Sends a request, and once more with a token if the registry asks for one.
    pub(crate) fn send(
        &mut self,
        url: &WebUrl,
        request: RegistryRequest,
    ) -> Result<WebResponse<'a>, SourceError> {
        let RegistryRequest { method, headers, body, redirects } = request;
        let request = |authorization: Option<String>, body: Vec<u8>| WebRequest {
            method: method.unwrap_or("GET"),
            headers: headers.clone(),
            authorization,
            redirects: redirects.unwrap_or(Redirects::SameHost),
            body,
            ..WebRequest::get(url.clone())
        };
        if self.authorization.is_some() {
            return self.web.send(request(self.authorization.clone(), body), self.registry);
        }
        let response = self.web.send(request(None, body.clone()), self.registry)?;
        if response.status() != 401 {
            return Ok(response);
        }
        let challenge = response.header("www-authenticate").unwrap_or_default().to_owned();
        drop(response);
        self.authorization = self.answer(&challenge)?;
        self.web.send(request(self.authorization.clone(), body), self.registry)
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
        let actions = match self.access {
            RegistryAccess::Pull => "pull",
            RegistryAccess::Push => "pull,push",
        };
        let scope = format!("repository:{}:{actions}", self.repository);
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

/// True for a text that may be a tag. A lock and a list of referrers are texts of strangers, and become a part of URLs.
fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=MAX_TAG).contains(&text.len())
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|byte| is_word(byte) || b".-".contains(&byte))
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
    fn tags_are_words_and_no_paths() {
        for tag in ["latest", "1.0.0-rc.1", "_x", "sha256-00.sig", &"a".repeat(128)] {
            assert!(is_tag(tag), "{tag}");
        }
        for text in ["", ".", "..", "-x", "a/b", "a?b", "a b", "a:b", "é", &"a".repeat(129)] {
            assert!(!is_tag(text), "{text}");
        }
    }

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
}
