//! Publishes packages in registries: blobs, a manifest under the tag of the version, and the signature as its referrer.
//!
//! A version is always under its own tag, so that it cannot be published twice with other bytes. A further tag, such as
//! `latest`, may lead from one version of the skill to another.
//!
//! The distribution specification has no request that writes a tag only if there is none. So the tag is looked at just
//! before it is written, and two publishers at the same moment are told apart by the registry alone.

use serde_json::{Value, json};

use crate::error::{SourceError, shown};
use crate::oci::artifact::{EMPTY, INDEX, MANIFEST, OciDescriptor, OciPlace, TITLE};
use crate::oci::referrers::{ENVELOPE, fallback_tag, referrers};
use crate::oci::session::{RegistryAccess, RegistryRequest, RegistrySession};
use crate::package::skill_package::{Publication, SkillPackage, taken};
use crate::web::{Web, WebResponse};
use wardian_formats::provenance::skill_signature::{
    CLAIM_DIGEST, CLAIM_NAME, CLAIM_VERSION, PACKAGE_LAYER, SKILL_ARTIFACT, SkillClaim,
    SkillEnvelope,
};
use wardian_vocabulary::ids::{Digest, SkillVersion};

/// The content of a configuration that has nothing.
const NOTHING: &[u8] = b"{}";

/// Publishes a package under the tag of its version, and under a further one.
pub(crate) fn publish(
    web: &Web,
    place: &OciPlace<'_>,
    tag: Option<&str>,
    package: &SkillPackage,
) -> Result<Publication, SourceError> {
    let claim = &package.claim;
    let own = claim.version.as_str();
    let tag = tag.unwrap_or(own);
    check_tag(tag, &claim.version)?;
    let at = (place.registry, place.repository);
    let mut session = RegistrySession::new(web, at, place.credentials, RegistryAccess::Push);
    let manifest = manifest_of(package).to_string().into_bytes();
    let digest = format!("sha256:{}", Digest::of(&manifest));
    let further = match tag == own {
        true => None,
        false => Some(further_tag(&mut session, (tag, &digest), claim)?),
    };
    let is_new = match session.find_manifest(own)? {
        Some(there) if there.digest == digest => false,
        Some(_) => return Err(taken(claim)),
        None => {
            put_blob(&mut session, NOTHING)?;
            put_blob(&mut session, &package.bytes)?;
            put_manifest(&mut session, own, (MANIFEST, manifest.clone()))?;
            true
        }
    };
    let mut moved_from = None;
    if let Some(FurtherTag::Elsewhere { version }) = further {
        put_manifest(&mut session, tag, (MANIFEST, manifest.clone()))?;
        moved_from = version;
    }
    let subject = descriptor(MANIFEST, &manifest);
    let is_signature_new = match &package.envelope {
        Some(envelope) => sign(&mut session, &subject, envelope)?,
        None => false,
    };
    let (host, repository) = (&place.registry.authority, place.repository);
    let place = format!("oci://{host}/{repository}:{tag}@{digest}");
    Ok(Publication { place, is_new, is_signature_new, moved_from })
}

/// Refuses a digest, and the tag of another version.
fn check_tag(tag: &str, version: &SkillVersion) -> Result<(), SourceError> {
    if tag.contains(':') {
        let wrong = "a package is published under a tag, not under a digest";
        return Err(SourceError::NotASource(wrong.to_owned()));
    }
    let named = SkillVersion::parse(tag.strip_prefix('v').unwrap_or(tag));
    if named.is_ok_and(|named| named != *version) {
        return Err(SourceError::NotASource(format!(
            "the tag `{}` is that of another version than {version}: leave it out, or name one that is no version, such \
             as `latest`",
            shown(tag)
        )));
    }
    Ok(())
}

/// Where a further tag leads before a package is published.
enum FurtherTag {
    /// To this package.
    Here,
    /// To another version of the skill, or nowhere yet.
    Elsewhere { version: Option<SkillVersion> },
}

/// Looks where a further tag leads. An error is the reason why it may not be moved.
fn further_tag(
    session: &mut RegistrySession<'_>,
    (tag, digest): (&str, &str),
    claim: &SkillClaim,
) -> Result<FurtherTag, SourceError> {
    match session.find_manifest(tag)? {
        Some(there) if there.digest == digest => Ok(FurtherTag::Here),
        Some(there) => {
            let annotations = &there.manifest.annotations;
            let name = annotations.get(CLAIM_NAME).map(String::as_str);
            let version = annotations.get(CLAIM_VERSION);
            let version = version.and_then(|text| SkillVersion::parse(text).ok());
            match version.filter(|_| name == Some(claim.name.as_str())) {
                Some(version) if version == claim.version => Err(taken(claim)),
                Some(version) => Ok(FurtherTag::Elsewhere { version: Some(version) }),
                None => {
                    Err(SourceError::TagTaken { tag: shown(tag), skill: claim.name.to_string() })
                }
            }
        }
        None => Ok(FurtherTag::Elsewhere { version: None }),
    }
}

/// The manifest of a package. Its annotations are what cosign signs, so they are the claim.
fn manifest_of(package: &SkillPackage) -> Value {
    let claim = &package.claim;
    let mut layer = json!(descriptor(PACKAGE_LAYER, &package.bytes));
    if let Some(layer) = layer.as_object_mut() {
        let title = format!("{}-{}.tar", claim.name, claim.version);
        layer.insert("annotations".to_owned(), json!({ TITLE: title }));
    }
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": SKILL_ARTIFACT,
        "config": descriptor(EMPTY, NOTHING),
        "layers": [layer],
        "annotations": {
            CLAIM_DIGEST: claim.digest,
            CLAIM_NAME: claim.name,
            CLAIM_VERSION: claim.version,
        },
    })
}

/// Adds an envelope as a referrer of a manifest. True if it was not there.
fn sign(
    session: &mut RegistrySession<'_>,
    subject: &OciDescriptor,
    envelope: &SkillEnvelope,
) -> Result<bool, SourceError> {
    let text = envelope.text().map_err(|fault| SourceError::NotASource(fault.to_string()))?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": ENVELOPE,
        "config": descriptor(EMPTY, NOTHING),
        "layers": [descriptor(ENVELOPE, text.as_bytes())],
        "subject": subject,
    });
    let manifest = manifest.to_string().into_bytes();
    let mut referrer = descriptor(MANIFEST, &manifest);
    referrer.artifact_type = Some(ENVELOPE.to_owned());
    let mut all = referrers(session, &subject.digest)?;
    if all.iter().any(|one| one.digest == referrer.digest) {
        return Ok(false);
    }
    put_blob(session, NOTHING)?;
    put_blob(session, text.as_bytes())?;
    let name = referrer.digest.clone();
    let is_listed = put_manifest(session, &name, (MANIFEST, manifest))?;
    if !is_listed {
        // This registry lists no referrers, so its clients keep the list under a tag.
        all.push(referrer);
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": all });
        let index = index.to_string().into_bytes();
        put_manifest(session, &fallback_tag(&subject.digest), (INDEX, index))?;
    }
    Ok(true)
}

fn descriptor(kind: &str, content: &[u8]) -> OciDescriptor {
    OciDescriptor {
        media_type: kind.to_owned(),
        digest: format!("sha256:{}", Digest::of(content)),
        size: u64::try_from(content.len()).unwrap_or(u64::MAX),
        artifact_type: None,
        annotations: std::collections::BTreeMap::new(),
    }
}

/// Uploads a blob in one piece, unless it is there.
fn put_blob(session: &mut RegistrySession<'_>, content: &[u8]) -> Result<(), SourceError> {
    let digest = format!("sha256:{}", Digest::of(content));
    let request = |method| RegistryRequest { method: Some(method), ..RegistryRequest::default() };
    let there = session.send(&session.url(&format!("blobs/{digest}")), request("HEAD"))?;
    if there.status() == 200 {
        return Ok(());
    }
    drop(there);
    let begun = session.send(&session.url("blobs/uploads/"), request("POST"))?;
    let begun = expect(begun, 202)?;
    let location = begun.header("location").unwrap_or_default().to_owned();
    let mut url = begun.url().follow(&location)?;
    drop(begun);
    if url.origin() != session.registry.origin() {
        return Err(SourceError::Server {
            url: session.registry.named(),
            problem: format!("wants the upload at another host, `{}`", shown(&url.named())),
        });
    }
    let joint = if url.path.contains('?') { '&' } else { '?' };
    url.path = format!("{}{joint}digest={digest}", url.path);
    let headers = vec![("content-type".to_owned(), "application/octet-stream".to_owned())];
    let request = RegistryRequest { headers, body: content.to_vec(), ..request("PUT") };
    expect(session.send(&url, request)?, 201).map(drop)
}

/// Writes a manifest under a tag or its digest. True if the registry lists it as a referrer by itself.
fn put_manifest(
    session: &mut RegistrySession<'_>,
    reference: &str,
    (kind, body): (&str, Vec<u8>),
) -> Result<bool, SourceError> {
    let headers = vec![("content-type".to_owned(), kind.to_owned())];
    let request = RegistryRequest { method: Some("PUT"), headers, body, redirects: None };
    let written = session.send(&session.url(&format!("manifests/{reference}")), request)?;
    Ok(expect(written, 201)?.header("oci-subject").is_some())
}

/// Refuses every answer but the one that means success.
fn expect(response: WebResponse<'_>, status: u16) -> Result<WebResponse<'_>, SourceError> {
    if response.status() == status {
        return Ok(response);
    }
    if response.status() == 200 {
        let problem = format!("answers with 200 where {status} means success");
        return Err(SourceError::Server { url: response.url().named(), problem });
    }
    response.expect_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_of_another_version_is_refused() {
        let version = SkillVersion::parse("0.2.0").unwrap();
        for tag in ["0.2.0", "v0.2.0", "latest", "stable", "0.2", "v1"] {
            assert!(check_tag(tag, &version).is_ok(), "{tag}");
        }
        for tag in ["9.9.9", "v9.9.9", "0.2.0-rc.1", "sha256:00"] {
            assert!(check_tag(tag, &version).is_err(), "{tag}");
        }
    }
}
