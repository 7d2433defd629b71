//! Packages in a bucket, as a folder of packages has them.

use crate::archive;
use crate::error::{SourceError, shown};
use crate::package::layout::{
    MAX_PACKAGE, add_package, chosen, find_version, is_signature, package_name, signature_name,
    version_of,
};
use crate::package::skill_package::{
    MAX_READ_BYTES, MAX_READ_SIGNATURES, PackagedSkill, Publication, SkillPackage, keep_envelope,
    taken,
};
use crate::store::bucket::{Bucket, Creation, StoreListing};
use crate::store::place::StorePlace;
use crate::tree::Tree;
use crate::web::Web;
use wardian_formats::provenance::skill_signature::{MAX_SIGNATURES_SIZE, SkillSignatures};
use wardian_vocabulary::ids::{Digest, SkillName, SkillVersion};

/// An object that every place with packages has. Whoever publishes writes it if there is none, and so learns whether the
/// store keeps what there is.
const MARKER: &str = ".wardian-packages";
const MARKER_CONTENT: &[u8] = b"Packages of skills. A package is never replaced.\n";

/// Publishes a package in a bucket.
pub(crate) fn publish(
    web: &Web,
    place: &StorePlace<'_>,
    package: &SkillPackage,
) -> Result<Publication, SourceError> {
    let bucket = Bucket::open(web, place.bucket)?;
    let claim = &package.claim;
    let folder = below(place.key, claim.name.as_str());
    let key = below(&folder, &package_name(&claim.version));
    let is_new = match bucket.read(&key, package.bytes.len()) {
        Ok(Some(there)) if there == package.bytes => false,
        // What is larger is not read to its end.
        Ok(Some(_)) | Err(SourceError::TooLarge(_)) => return Err(taken(claim)),
        Err(fault) => return Err(fault),
        Ok(None) => {
            ensure_conditions(&bucket, place.key)?;
            match put(&bucket, &key, &package.bytes)? {
                Put::New => true,
                Put::Same => false,
                Put::Other => return Err(taken(claim)),
            }
        }
    };
    let mut is_signature_new = false;
    if let Some(envelope) = &package.envelope {
        let text = envelope.text().map_err(|fault| SourceError::NotASource(fault.to_string()))?;
        let beside = below(&folder, &signature_name(&claim.version, envelope.key_id()));
        is_signature_new = match put(&bucket, &beside, text.as_bytes())? {
            Put::New => true,
            Put::Same => false,
            Put::Other => {
                let problem = "is there, and is not the signature of this package";
                return Err(bucket.strange(&beside, problem));
            }
        };
    }
    let place = format!("s3://{}/{key}", place.bucket);
    Ok(Publication { place, is_new, is_signature_new, moved_from: None })
}

/// What is under a key after it was written.
enum Put {
    New,
    Same,
    Other,
}

/// Writes an object unless there is one, and reads what is there: the store's word is not enough.
fn put(bucket: &Bucket<'_>, key: &str, content: &[u8]) -> Result<Put, SourceError> {
    let creation = bucket.create(key, content)?;
    let there = match bucket.read(key, content.len()) {
        Err(SourceError::TooLarge(_)) => None,
        there => Some(there?),
    };
    match (creation, there) {
        (Creation::New, Some(Some(there))) if there == content => Ok(Put::New),
        (Creation::Exists, Some(Some(there))) if there == content => Ok(Put::Same),
        (Creation::Exists, Some(Some(_)) | None) => Ok(Put::Other),
        (Creation::New, _) => Err(bucket.strange(key, "is not what was written just now")),
        (Creation::Exists, Some(None)) => {
            Err(bucket.strange(key, "exists and does not, as the store says: try again later"))
        }
    }
}

/// Refuses a store that replaces an object although only a new one was to be created: what is published would not be safe.
fn ensure_conditions(bucket: &Bucket<'_>, key: &str) -> Result<(), SourceError> {
    let marker = below(key, MARKER);
    if bucket.create(&marker, MARKER_CONTENT)? == Creation::Exists
        || bucket.create(&marker, MARKER_CONTENT)? == Creation::Exists
    {
        return Ok(());
    }
    let problem = "was created twice: the store takes no heed of `If-None-Match`, so what is published could be replaced. Use \
                   a store that does, a registry (`oci://HOST/NAME`) or a folder";
    Err(bucket.strange(&marker, problem))
}

/// Adds packages of a bucket to a tree: the one that is named, the one of a pinned revision, or the latest of each skill.
pub(crate) fn fetch(
    web: &Web,
    place: &StorePlace<'_>,
    pinned: Option<&str>,
    tree: &mut Tree,
    notes: &mut Vec<String>,
) -> Result<Vec<PackagedSkill>, SourceError> {
    let bucket = Bucket::open(web, place.bucket)?;
    if crate::source::is_archive(place.key) {
        return Ok(vec![fetch_object(&bucket, place.key, tree, notes)?]);
    }
    let here = bucket.list(place.key)?;
    let own = place.key.rsplit('/').next().and_then(|name| SkillName::parse(name).ok());
    let versions = versions_in(&here);
    if let Some(name) = own.filter(|_| !versions.is_empty()) {
        let version = find_version(&versions, pinned)?;
        let shelf = StoreShelf { bucket: &bucket, key: place.key, name: &name, listing: &here };
        return Ok(vec![shelf.unpack(version, "", tree, notes)?]);
    }
    let mut packages = Vec::new();
    for name in here.folders.iter().filter_map(|name| SkillName::parse(name).ok()) {
        let key = below(place.key, name.as_str());
        let listing = bucket.list(&key)?;
        let versions = versions_in(&listing);
        let Some(version) = chosen(&versions, None) else { continue };
        let shelf = StoreShelf { bucket: &bucket, key: &key, name: &name, listing: &listing };
        packages.push(shelf.unpack(version, name.as_str(), tree, notes)?);
    }
    if packages.is_empty() {
        let place = shown(&format!("s3://{}/{}", place.bucket, place.key));
        return Err(SourceError::NotASource(format!(
            "there are no packages below `{place}`: `wardian skills publish FOLDER {place}` puts one there"
        )));
    }
    Ok(packages)
}

/// Adds the files of an archive to a tree: of a package, or of any other.
fn fetch_object(
    bucket: &Bucket<'_>,
    key: &str,
    tree: &mut Tree,
    notes: &mut Vec<String>,
) -> Result<PackagedSkill, SourceError> {
    let bytes = package_at(bucket, key)?;
    archive::unpack(&bytes, tree)?;
    let digest = Digest::of(&bytes);
    let (folder, file) = key.rsplit_once('/').unwrap_or(("", key));
    let signatures = match version_of(file) {
        Some(version) => {
            signatures_of(bucket, (folder, &bucket.list(folder)?), &version, digest, notes)?
        }
        None => SkillSignatures::default(),
    };
    let (folder, revision) = (String::new(), format!("sha256:{digest}"));
    // The user has typed the name of the object, and may have given it.
    Ok(PackagedSkill { folder, revision, signatures, promised: None })
}

/// The packages of one skill.
struct StoreShelf<'a> {
    bucket: &'a Bucket<'a>,
    key: &'a str,
    name: &'a SkillName,
    listing: &'a StoreListing,
}

impl StoreShelf<'_> {
    fn unpack(
        &self,
        version: &SkillVersion,
        below_folder: &str,
        tree: &mut Tree,
        notes: &mut Vec<String>,
    ) -> Result<PackagedSkill, SourceError> {
        let bytes = package_at(self.bucket, &below(self.key, &package_name(version)))?;
        add_package(&bytes, below_folder, tree, notes)?;
        let digest = Digest::of(&bytes);
        let place = (self.key, self.listing);
        let signatures = signatures_of(self.bucket, place, version, digest, notes)?;
        Ok(PackagedSkill {
            folder: below_folder.to_owned(),
            revision: format!("{version} sha256:{digest}"),
            signatures,
            promised: Some((self.name.clone(), version.clone())),
        })
    }
}

fn package_at(bucket: &Bucket<'_>, key: &str) -> Result<Vec<u8>, SourceError> {
    let most = usize::try_from(MAX_PACKAGE).unwrap_or(usize::MAX);
    let missing = || bucket.strange(key, "does not exist (404)");
    bucket.read(key, most)?.ok_or_else(missing)
}

fn signatures_of(
    bucket: &Bucket<'_>,
    (folder, listing): (&str, &StoreListing),
    version: &SkillVersion,
    package: Digest,
    notes: &mut Vec<String>,
) -> Result<SkillSignatures, SourceError> {
    let found: Vec<&String> =
        listing.objects.iter().filter(|name| is_signature(version, name)).collect();
    let (mut signatures, mut room) = (SkillSignatures::default(), MAX_READ_BYTES);
    let most = usize::try_from(MAX_SIGNATURES_SIZE.as_u64()).unwrap_or(usize::MAX);
    for (count, name) in found.iter().enumerate() {
        if count >= MAX_READ_SIGNATURES || room == 0 {
            let left = found.len().saturating_sub(count);
            notes.push(format!("{left} further signatures of {version} were not read"));
            break;
        }
        // What is no signature makes the package an unsigned one, and nothing more.
        match bucket.read(&below(folder, name), most) {
            Ok(Some(text)) => {
                room = room.saturating_sub(u64::try_from(text.len()).unwrap_or(u64::MAX));
                keep_envelope(&text, package, &mut signatures, notes);
            }
            Ok(None) => {}
            Err(fault) => notes.push(format!("a signature was left out: {fault}")),
        }
    }
    Ok(signatures)
}

fn versions_in(listing: &StoreListing) -> Vec<SkillVersion> {
    listing.objects.iter().filter_map(|name| version_of(name)).collect()
}

fn below(key: &str, name: &str) -> String {
    if key.is_empty() { name.to_owned() } else { format!("{key}/{name}") }
}
