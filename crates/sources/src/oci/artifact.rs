//! The parts of an artifact: its manifest and what that says of its parts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::web_url::{UrlCredentials, WebUrl};
use wardian_vocabulary::ids::Digest;

pub(super) const MAX_MANIFEST: u64 = 4 << 20;
pub(super) const MAX_LAYER: u64 = 256 << 20;
pub(super) const MAX_LAYERS: usize = 64;

pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The kind of a configuration that has nothing.
pub(super) const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// The name of a layer's file.
pub(super) const TITLE: &str = "org.opencontainers.image.title";

/// What is read of a manifest or an index.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OciManifest {
    #[serde(default)]
    pub(super) layers: Vec<OciDescriptor>,
    /// Of an index.
    #[serde(default)]
    pub(super) manifests: Vec<OciDescriptor>,
    #[serde(default)]
    pub(super) annotations: BTreeMap<String, String>,
}

/// What a manifest says of one of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OciDescriptor {
    #[serde(default)]
    pub(super) media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
}

/// The place of an artifact.
pub(crate) struct OciPlace<'a> {
    pub(crate) registry: &'a WebUrl,
    pub(crate) repository: &'a str,
    pub(crate) credentials: Option<&'a UrlCredentials>,
}

/// The digest of a descriptor, which becomes a part of URLs: `None` if it is not `sha256:` and 64 lowercase hexadecimal
/// digits.
pub(super) fn digest_in(text: &str) -> Option<Digest> {
    Digest::parse(text.strip_prefix("sha256:")?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_digest_of_sha256_is_one() {
        let digest = Digest::of(b"x");
        assert_eq!(digest_in(&format!("sha256:{digest}")), Some(digest));
        for text in [
            String::new(),
            digest.to_string(),
            format!("sha512:{digest}"),
            format!("sha256:{digest}/../../x"),
            format!("sha256:{}", digest.to_string().to_uppercase()),
            "../../../token?x=".to_owned(),
            "latest".to_owned(),
        ] {
            assert_eq!(digest_in(&text), None, "{text}");
        }
    }
}
