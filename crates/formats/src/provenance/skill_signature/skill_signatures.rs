//! All signatures of one skill, and the question whether a trusted key is among them.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::protocol::strict;
use crate::provenance::canonical::canonical;
use crate::provenance::fault::ProvenanceError;
use crate::provenance::skill_signature::claim::SkillClaim;
use crate::provenance::skill_signature::cosign::CosignSignature;
use crate::provenance::skill_signature::envelope::{MAX_SIGNATURES_SIZE, SkillEnvelope};
use crate::provenance::skill_signature::signature_fault::SignatureFault;
use crate::provenance::skill_signature::skill_key::SkillKey;
use wardian_vocabulary::units::ByteCount;

/// The file in a skill's folder with its signatures. As a hidden file it is not covered by the signatures.
pub const SIGNATURES_FILE: &str = ".signatures.json";

/// Most signatures of each kind. Each costs a verification for each trusted key, of some 100 µs.
const MAX_SIGNATURES: usize = 16;

/// Most signatures of each kind that are looked at before the best of them are kept.
const MAX_GATHERED: usize = 256;

/// What a file of signatures has around its signatures, in bytes, and more.
const FRAME: usize = 64;

/// Digits of the id of an unknown key in messages.
const SHORT_ID: usize = 16;

/// The signatures of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillSignatures {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cosign: Vec<CosignSignature>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    envelopes: Vec<SkillEnvelope>,
}

/// A trusted key that vouches for a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillSigner {
    /// The key, as [`SkillKey::label`] names it.
    pub key: String,
    /// The form of the signature: `dsse` or `cosign`.
    pub form: String,
}

impl SkillSignatures {
    /// Reads the file of signatures. Nothing is verified yet.
    ///
    /// # Errors
    ///
    /// It is too large, no such file, or has too many signatures.
    pub fn read(text: &[u8]) -> Result<Self, ProvenanceError> {
        if ByteCount::from(text.len()) > MAX_SIGNATURES_SIZE {
            return Err(ProvenanceError::TooLarge { most: MAX_SIGNATURES_SIZE });
        }
        let what = "the signatures";
        let json = |problem: String| ProvenanceError::Json { what, problem };
        let read = strict::read(text).map_err(|fault| json(fault.to_string()))?;
        // A list without elements would be one, too.
        if !read.text.trim_start().starts_with('{') {
            return Err(json("it is no object".to_owned()));
        }
        let found: Self =
            serde_json::from_str(read.text).map_err(|fault| json(fault.to_string()))?;
        if found.envelopes.len() > MAX_SIGNATURES || found.cosign.len() > MAX_SIGNATURES {
            return Err(json(format!("there are more than {MAX_SIGNATURES}")));
        }
        Ok(found)
    }

    /// The file of signatures.
    ///
    /// # Errors
    ///
    /// It would be too large.
    pub fn text(&self) -> Result<String, ProvenanceError> {
        let text = canonical(self)?;
        if ByteCount::from(text.len()) > MAX_SIGNATURES_SIZE {
            return Err(ProvenanceError::TooLarge { most: MAX_SIGNATURES_SIZE });
        }
        Ok(text)
    }

    /// True if there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.cosign.is_empty() && self.envelopes.is_empty()
    }

    /// Adds an envelope. False if it is not there now, because there are too many.
    #[must_use]
    pub fn add(&mut self, envelope: SkillEnvelope) -> bool {
        let is_there = self.envelopes.contains(&envelope);
        let has_room = self.envelopes.len() < MAX_SIGNATURES;
        if !is_there && has_room {
            self.envelopes.push(envelope);
        }
        is_there || has_room
    }

    /// Adds an envelope to those of which [the best are kept](Self::keep_best). False if it is not there now, because
    /// there are too many even for that.
    #[must_use]
    pub fn gather(&mut self, envelope: SkillEnvelope) -> bool {
        let is_there = self.envelopes.contains(&envelope);
        let has_room = self.envelopes.len() < MAX_GATHERED;
        if !is_there && has_room {
            self.envelopes.push(envelope);
        }
        is_there || has_room
    }

    /// Adds a signature of cosign, as [`Self::gather`] does an envelope.
    #[must_use]
    pub fn gather_cosign(&mut self, signature: CosignSignature) -> bool {
        let is_there = self.cosign.contains(&signature);
        let has_room = self.cosign.len() < MAX_GATHERED;
        if !is_there && has_room {
            self.cosign.push(signature);
        }
        is_there || has_room
    }

    /// Drops signatures of other files, versions and skills. Nothing is verified. Returns how many there were.
    pub fn keep_for(&mut self, claim: &SkillClaim) -> usize {
        let before = self.envelopes.len().saturating_add(self.cosign.len());
        self.envelopes.retain(|one| one.claim().is_ok_and(|found| found == *claim));
        self.cosign.retain(|one| one.claim().is_ok_and(|found| found == *claim));
        before.saturating_sub(self.envelopes.len().saturating_add(self.cosign.len()))
    }

    /// Gathers those of another set, too. Returns how many there was no room for.
    pub fn gather_all(&mut self, others: Self) -> usize {
        let envelopes = others.envelopes.into_iter().map(|one| self.gather(one));
        let lost = envelopes.filter(|is_there| !is_there).count();
        let cosign = others.cosign.into_iter().map(|one| self.gather_cosign(one));
        lost.saturating_add(cosign.filter(|is_there| !is_there).count())
    }

    /// Keeps as many as a file of signatures may have: first those of trusted keys for what is claimed of a skill, then
    /// others for it. Returns how many were dropped.
    pub fn keep_best(&mut self, found: &SkillClaim, keys: &[SkillKey]) -> usize {
        let mut all: Vec<(SignatureRank, AnySignature)> = Vec::new();
        all.extend(std::mem::take(&mut self.envelopes).into_iter().map(|one| {
            let is_for_it = one.claim().is_ok_and(|claim| claim == *found);
            let rank = SignatureRank::of(&of_envelope(&one, found, keys), is_for_it);
            (rank, AnySignature::Envelope(one))
        }));
        all.extend(std::mem::take(&mut self.cosign).into_iter().map(|one| {
            let is_for_it = one.claim().is_ok_and(|claim| claim == *found);
            (SignatureRank::of(&of_cosign(&one, found, keys), is_for_it), AnySignature::Cosign(one))
        }));
        // Those of one rank stay in their order.
        all.sort_by_key(|(rank, _)| Reverse(*rank));
        let mut room = usize::try_from(MAX_SIGNATURES_SIZE.as_u64()).unwrap_or(usize::MAX);
        room = room.saturating_sub(FRAME);
        let mut dropped = 0_usize;
        for (_, one) in all {
            let size = one.size();
            let is_kept = size.is_some_and(|size| size <= room) && self.keep(one);
            match size.filter(|_| is_kept) {
                Some(size) => room = room.saturating_sub(size),
                None => dropped = dropped.saturating_add(1),
            }
        }
        dropped
    }

    /// Adds a signature unless there are enough of its kind.
    fn keep(&mut self, one: AnySignature) -> bool {
        match one {
            AnySignature::Envelope(one) => self.add(one),
            AnySignature::Cosign(one) => {
                let has_room = self.cosign.len() < MAX_SIGNATURES;
                if has_room {
                    self.cosign.push(one);
                }
                has_room
            }
        }
    }

    /// The trusted key that vouches for what is claimed of a skill.
    ///
    /// # Errors
    ///
    /// No key of `keys` does.
    pub fn signer(
        &self,
        found: &SkillClaim,
        keys: &[SkillKey],
    ) -> Result<SkillSigner, SignatureFault> {
        let of_envelopes = self.envelopes.iter().map(|one| of_envelope(one, found, keys));
        let of_cosign = self.cosign.iter().map(|one| of_cosign(one, found, keys));
        let mut worst =
            if keys.is_empty() { SignatureFault::NoKeys } else { SignatureFault::Unsigned };
        for outcome in of_envelopes.chain(of_cosign) {
            match outcome {
                Ok(signer) => return Ok(signer),
                Err(fault) if fault.weight() > worst.weight() => worst = fault,
                Err(_) => {}
            }
        }
        Err(worst)
    }

    /// Its envelopes, in their order. Nothing is verified.
    #[must_use]
    pub fn envelopes(&self) -> &[SkillEnvelope] {
        &self.envelopes
    }

    /// How many there are that are not [envelopes](Self::envelopes).
    #[must_use]
    pub const fn others(&self) -> usize {
        self.cosign.len()
    }

    /// Adds the signatures of another set, without duplicates. Returns false, and adds none, if there is no room for all.
    #[must_use]
    pub fn merge(&mut self, others: &Self) -> bool {
        let mut merged = self.clone();
        let envelopes = others.envelopes.iter().filter(|one| !self.envelopes.contains(one));
        merged.envelopes.extend(envelopes.cloned());
        let cosign = others.cosign.iter().filter(|one| !self.cosign.contains(one));
        merged.cosign.extend(cosign.cloned());
        let most = merged.envelopes.len().max(merged.cosign.len());
        let is_small = most <= MAX_SIGNATURES && merged.text().is_ok();
        if is_small {
            *self = merged;
        }
        is_small
    }
}

/// A signature of either kind.
enum AnySignature {
    Envelope(SkillEnvelope),
    Cosign(CosignSignature),
}

impl AnySignature {
    /// Its size in a file of signatures, with the comma; `None` if it has no canonical form.
    fn size(&self) -> Option<usize> {
        let text = match self {
            Self::Envelope(one) => canonical(one),
            Self::Cosign(one) => canonical(one),
        };
        Some(text.ok()?.len().saturating_add(1))
    }
}

/// How much a signature is worth: by whether a trusted key vouches, else how near it is to that, else whether it claims to be
/// for the skill.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SignatureRank(u8, bool);

impl SignatureRank {
    fn of(outcome: &Result<SkillSigner, SignatureFault>, is_for_it: bool) -> Self {
        Self(outcome.as_ref().map_or_else(SignatureFault::weight, |_| u8::MAX), is_for_it)
    }
}

fn of_envelope(
    envelope: &SkillEnvelope,
    found: &SkillClaim,
    keys: &[SkillKey],
) -> Result<SkillSigner, SignatureFault> {
    let Some(key) = keys.iter().find(|key| envelope.is_signed_by(key)) else {
        let is_named = keys.iter().any(|key| key.id() == envelope.key_id());
        let by: String = envelope.key_id().chars().take(SHORT_ID).collect();
        let is_id = by.len() == SHORT_ID && by.bytes().all(|byte| byte.is_ascii_hexdigit());
        return Err(match (is_named, is_id) {
            (true, _) => SignatureFault::Changed,
            (false, true) => SignatureFault::Foreign { by: format!("the key {by}…") },
            (false, false) => SignatureFault::Foreign { by: "an unknown key".to_owned() },
        });
    };
    let claim = envelope.claim().map_err(|fault| SignatureFault::Malformed(fault.to_string()))?;
    claim.ensure_covers(found)?;
    Ok(SkillSigner { key: key.label(), form: "dsse".to_owned() })
}

fn of_cosign(
    signature: &CosignSignature,
    found: &SkillClaim,
    keys: &[SkillKey],
) -> Result<SkillSigner, SignatureFault> {
    let Some(key) = keys.iter().find(|key| signature.is_signed_by(key)) else {
        return Err(SignatureFault::Foreign { by: "a key of cosign".to_owned() });
    };
    signature.claim()?.ensure_covers(found)?;
    Ok(SkillSigner { key: key.label(), form: "cosign".to_owned() })
}

#[cfg(test)]
mod tests {
    use data_encoding::BASE64;
    use ring::rand::SystemRandom;
    use serde_json::{Value, json};

    use super::*;
    use crate::provenance::ed25519_keys::PrivateKey;
    use crate::provenance::skill_signature::cosign::{
        CLAIM_DIGEST, CLAIM_NAME, CLAIM_VERSION, PACKAGE_LAYER, SKILL_ARTIFACT,
    };
    use wardian_vocabulary::ids::{Digest, SkillName, SkillVersion};

    fn private(seed: u8) -> PrivateKey {
        let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        let der = BASE64.encode(&[&head[..], &[seed; 32]].concat());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{der}\n-----END PRIVATE KEY-----\n");
        PrivateKey::read(&pem).unwrap()
    }

    fn claim(name: &str, version: &str, files: &str) -> SkillClaim {
        SkillClaim {
            digest: Digest::of(files.as_bytes()),
            name: SkillName::parse(name).unwrap(),
            version: SkillVersion::parse(version).unwrap(),
        }
    }

    fn signed(claim: &SkillClaim, key: &PrivateKey) -> SkillSignatures {
        let mut signatures = SkillSignatures::default();
        assert!(signatures.add(SkillEnvelope::sign(claim, Digest::of(b"package"), key).unwrap()));
        SkillSignatures::read(signatures.text().unwrap().as_bytes()).unwrap()
    }

    /// INVARIANT(signed-files)
    #[test]
    fn signed_files_are_those_of_one_name_one_version_and_one_digest() {
        let (ours, theirs) = (private(1), private(2));
        let keys = [SkillKey::Ed25519(ours.public())];
        let found = claim("acme.report", "1.0.0", "files");
        let signer = signed(&found, &ours).signer(&found, &keys).unwrap();
        assert_eq!((signer.key, signer.form.as_str()), (keys[0].label(), "dsse"));
        for (signatures, expected) in [
            (SkillSignatures::default(), "is not signed"),
            (signed(&found, &theirs), "which is not trusted"),
            (signed(&claim("acme.report", "1.0.0", "x"), &ours), "has other files"),
            (signed(&claim("acme.report", "0.9.0", "files"), &ours), "for acme.report@0.9.0"),
            (signed(&claim("acme.other", "1.0.0", "files"), &ours), "for acme.other@1.0.0"),
        ] {
            let fault = signatures.signer(&found, &keys).unwrap_err().to_string();
            assert!(fault.contains(expected), "{fault}");
        }
        let none = signed(&found, &ours).signer(&found, &[]).unwrap_err();
        assert!(matches!(none, SignatureFault::Foreign { .. }), "{none}");
        // One that is right is enough, wherever it stands.
        let mut both = signed(&found, &theirs);
        both.gather_all(signed(&claim("acme.report", "1.0.0", "x"), &ours));
        both.gather_all(signed(&found, &ours));
        assert!(both.signer(&found, &keys).is_ok());
    }

    #[test]
    fn sets_are_merged_as_a_whole_or_not_at_all() {
        let key = private(1);
        let found = claim("acme.report", "1.0.0", "files");
        let of = |numbers: std::ops::Range<u8>| {
            let sign = |number: u8| SkillEnvelope::sign(&found, Digest::of(&[number]), &key);
            let envelopes = numbers.map(|number| sign(number).unwrap()).collect();
            SkillSignatures { cosign: Vec::new(), envelopes }
        };
        let mut all = of(0..10);
        assert!(all.merge(&of(5..16)));
        assert_eq!(all, of(0..16));
        assert!(all.merge(&of(3..9)) && !all.merge(&of(15..17)));
        assert_eq!((all.envelopes().len(), all.others()), (16, 0));
        assert_eq!(all, of(0..16));
    }

    #[test]
    fn nothing_in_an_envelope_can_be_changed() {
        let key = private(1);
        let keys = [SkillKey::Ed25519(key.public())];
        let found = claim("acme.report", "1.0.0", "files");
        let other = claim("acme.report", "2.0.0", "files");
        let (text, more) =
            (signed(&found, &key).text().unwrap(), signed(&other, &key).text().unwrap());
        let part = |text: &str, name: &str| {
            let rest = text.split(&format!("\"{name}\":\"")).nth(1).unwrap();
            rest.split('"').next().unwrap().to_owned()
        };
        // The payload of one with the signature of the other, and any letter of either.
        let mixed = text.replace(&part(&text, "payload"), &part(&more, "payload"));
        let fault =
            SkillSignatures::read(mixed.as_bytes()).unwrap().signer(&other, &keys).unwrap_err();
        assert_eq!(fault, SignatureFault::Changed);
        for (at, letter) in text.char_indices() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if letter == 'A' { b'B' } else { b'A' };
            let Ok(read) = SkillSignatures::read(&bytes) else { continue };
            // The id of a key is a hint, and not covered.
            let is_key_id = read.envelopes[0].key_id() != key.public().id();
            assert!(is_key_id || read.signer(&found, &keys).is_err(), "{at} {letter}");
        }
    }

    #[test]
    fn files_of_signatures_are_bounded_and_strict() {
        let many = "{\"cosign\":[],\"envelopes\":[".to_owned()
            + &vec!["{\"payload\":\"\",\"payloadType\":\"\",\"signatures\":[]}"; 17].join(",")
            + "]}";
        let large = format!("{{\"cosign\":[]{}}}", " ".repeat(300 << 10));
        for text in ["", "[]", "{\"more\":1}", "{\"cosign\":[],\"cosign\":[]}", &many, &large] {
            assert!(SkillSignatures::read(text.as_bytes()).is_err(), "{text:.40}");
        }
        assert!(SkillSignatures::read(b"{}").unwrap().is_empty());
    }

    #[test]
    fn the_signature_of_a_trusted_key_is_kept_however_many_others_there_are() {
        let (ours, theirs) = (private(1), private(2));
        let keys = [SkillKey::Ed25519(ours.public())];
        let found = claim("acme.report", "1.0.0", "files");
        let envelope = |of: usize, key: &PrivateKey| {
            SkillEnvelope::sign(&found, Digest::of(&of.to_be_bytes()), key).unwrap()
        };
        let mut many = SkillSignatures::default();
        for one in 0..100 {
            assert!(many.gather(envelope(one, &theirs)));
        }
        assert!(many.gather(envelope(0, &ours)));
        // What is too large for a file of signatures is dropped, whoever made it.
        let large = CosignSignature::new(&[b'x'; 64 << 10], &[b'x'; 200 << 10], "");
        assert!(many.gather_cosign(large));
        assert_eq!(many.keep_best(&found, &keys), 101 + 1 - 16);
        let kept = SkillSignatures::read(many.text().unwrap().as_bytes()).unwrap();
        assert!(kept.signer(&found, &keys).is_ok());
        // Such a file takes no more, but has what it has.
        let mut full = kept.clone();
        assert!(!full.add(envelope(200, &theirs)) && full.add(envelope(0, &ours)));
        assert_eq!(full, kept);
        let mut gathered = SkillSignatures::default();
        let all = (0..300).filter(|one| gathered.gather(envelope(*one, &theirs)));
        assert_eq!(all.count(), 256);
    }

    /// A key of cosign, and its signature of a manifest.
    fn of_cosign(manifest: &str, digest: &str) -> (SkillKey, CosignSignature) {
        use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
        let random = SystemRandom::new();
        let kind = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let der = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, der.as_ref(), &random).unwrap();
        let payload = format!(
            "{{\"critical\":{{\"identity\":{{\"docker-reference\":\"x\"}},\
             \"image\":{{\"docker-manifest-digest\":\"{digest}\"}},\
             \"type\":\"cosign container image signature\"}},\"optional\":null}}"
        );
        let signature = pair.sign(&random, payload.as_bytes()).unwrap();
        let signature = BASE64.encode(signature.as_ref());
        let key = SkillKey::P256(pair.public_key().as_ref().to_vec());
        (key, CosignSignature::new(manifest.as_bytes(), payload.as_bytes(), &signature))
    }

    /// A bundle of Sigstore about a manifest, and the key that has signed it.
    fn bundle(statement: &Value, material: &Value) -> (SkillKey, Vec<u8>) {
        let key = private(1);
        let statement = statement.to_string();
        let covered = crate::provenance::signed_document::covered(statement.as_bytes());
        let bundle = json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": material,
            "dsseEnvelope": {
                "payload": BASE64.encode(statement.as_bytes()),
                "payloadType": "application/vnd.in-toto+json",
                "signatures": [{"sig": BASE64.encode(&key.sign(&covered))}],
            },
        });
        (SkillKey::Ed25519(key.public()), bundle.to_string().into_bytes())
    }

    #[test]
    fn a_bundle_of_a_key_counts_if_it_only_signs() {
        let found = claim("acme.report", "1.0.0", "files");
        let manifest = json!({
            "artifactType": SKILL_ARTIFACT,
            "layers": [{ "mediaType": PACKAGE_LAYER }],
            "annotations": {
                CLAIM_DIGEST: found.digest, CLAIM_NAME: "acme.report", CLAIM_VERSION: "1.0.0",
            },
        });
        let manifest = manifest.to_string();
        let digest = Digest::of(manifest.as_bytes());
        let statement = |digest: Digest, predicate: &str| {
            json!({
                "_type": "https://in-toto.io/Statement/v1",
                "subject": [{"digest": {"sha256": digest}, "annotations": {}}],
                "predicateType": predicate,
                "predicate": {},
            })
        };
        let of_key = json!({"publicKey": {"hint": "x"}, "tlogEntries": [{"logIndex": "1"}]});
        let sign = "https://sigstore.dev/cosign/sign/v1";
        let judged = |statement: &Value| {
            let (key, bundle) = bundle(statement, &of_key);
            let signature = CosignSignature::of_bundle(manifest.as_bytes(), &bundle).unwrap();
            let mut signatures = SkillSignatures::default();
            assert!(signatures.gather_cosign(signature));
            let text = signatures.text().unwrap();
            let read = SkillSignatures::read(text.as_bytes()).unwrap();
            read.signer(&found, &[key]).map(|signer| signer.form)
        };
        assert_eq!(judged(&statement(digest, sign)).unwrap(), "cosign");
        for other in [
            statement(Digest::of(b"other"), sign),
            statement(digest, "https://slsa.dev/provenance/v1"),
            json!({"critical": {"type": "cosign container image signature",
                "image": {"docker-manifest-digest": format!("sha256:{digest}")}}}),
        ] {
            assert!(matches!(judged(&other), Err(SignatureFault::Malformed(_))), "{other}");
        }
        // Of certificates and of no envelope nothing is read.
        let certificate = json!({"certificate": {"rawBytes": ""}});
        let (_, keyless) = bundle(&statement(digest, sign), &certificate);
        for text in [&keyless[..], b"{}", b"", b"[]"] {
            assert_eq!(CosignSignature::of_bundle(manifest.as_bytes(), text), None);
        }
    }

    #[test]
    fn cosign_covers_a_manifest_that_names_the_files() {
        let found = claim("acme.report", "1.0.0", "files");
        let package = json!({ "mediaType": PACKAGE_LAYER });
        let manifest = |version: &str, kind: &str, layers: &[&Value]| {
            let annotations = json!({
                CLAIM_DIGEST: found.digest, CLAIM_NAME: "acme.report", CLAIM_VERSION: version,
            });
            json!({ "artifactType": kind, "layers": layers, "annotations": annotations })
                .to_string()
        };
        let digest = |text: &str| format!("sha256:{}", Digest::of(text.as_bytes()));
        let judged = |manifest: &str, digest: &str| {
            let (key, signature) = of_cosign(manifest, digest);
            let mut signatures = SkillSignatures::default();
            assert!(signatures.gather_cosign(signature));
            signatures.signer(&found, &[key]).map(|signer| signer.form)
        };
        let good = manifest("1.0.0", SKILL_ARTIFACT, &[&package]);
        assert_eq!(judged(&good, &digest(&good)).unwrap(), "cosign");
        let old = manifest("0.9.0", SKILL_ARTIFACT, &[&package]);
        assert!(matches!(judged(&old, &digest(&old)), Err(SignatureFault::OtherSkill { .. })));
        assert!(matches!(judged(&good, &digest(&old)), Err(SignatureFault::Malformed(_))));
        assert_eq!(judged("{}", &digest("{}")), Err(SignatureFault::NoClaim));
        // The key signs images, too, and somebody has annotated one.
        let image = json!({ "mediaType": "application/vnd.oci.image.layer.v1.tar" });
        for other in [
            manifest("1.0.0", "", &[&package]),
            manifest("1.0.0", "application/vnd.example", &[&package]),
            manifest("1.0.0", SKILL_ARTIFACT, &[]),
            manifest("1.0.0", SKILL_ARTIFACT, &[&image]),
            manifest("1.0.0", SKILL_ARTIFACT, &[&package, &package]),
        ] {
            assert_eq!(judged(&other, &digest(&other)), Err(SignatureFault::NoClaim), "{other}");
        }
        let (key, _) = of_cosign(&good, &digest(&good));
        let (_, signature) = of_cosign(&good, &digest(&good));
        let mut foreign = SkillSignatures::default();
        assert!(foreign.gather_cosign(signature));
        assert!(matches!(foreign.signer(&found, &[key]), Err(SignatureFault::Foreign { .. })));
    }
}
