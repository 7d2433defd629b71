//! Finds the skills and blobs that a call names.

use std::collections::HashSet;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::start::Discovery;
use wardian_formats::job::{PlacedBlob, check_placement};
use wardian_formats::protocol::methods::input_blob::{BlobAtPath, InputBlob};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_skills::registry::{RegistryError, SeenSkill, SkillView};
use wardian_vocabulary::ids::{BlobId, Digest, InvalidId, SkillName, SkillVersion, WorkspacePath};

/// Longest part of a path in a message, in characters.
const MAX_SHOWN: usize = 64;

impl Discovery {
    /// Returns the skills that the caller's tenant sees. Never waits for a disk.
    pub fn skills(&self, caller: &Caller) -> SkillView {
        self.registry.seen_by(&caller.tenant)
    }

    /// Finds a skill by the name and version of a call. Each of them may be followed by `#` and the
    /// digest that the skill must have, and the name by `@` and the version.
    pub(crate) fn find_skill(
        &self,
        caller: &Caller,
        name: &str,
        version: Option<&str>,
    ) -> Result<SeenSkill, ServiceError> {
        let (whole, digest) = match version.unwrap_or(name).split_once('#') {
            Some((whole, digest)) => (whole, Some(Digest::parse(digest)?)),
            None => (version.unwrap_or(name), None),
        };
        let (name, version) = match version {
            Some(_) => (name, Some(whole)),
            None => whole.split_once('@').map_or((whole, None), |(name, at)| (name, Some(at))),
        };
        let name = SkillName::parse(name)?;
        let version = version.map(SkillVersion::parse).transpose()?;
        let seen = self.skills(caller).find(&name, version.as_ref())?;
        let found = &seen.snapshot;
        match digest {
            Some(expected) if expected != found.digest() => Err(RegistryError::OtherContent {
                skill: format!("`{}` {}", found.name(), found.version()),
                expected: expected.to_string(),
                found: found.digest().to_string(),
            }
            .into()),
            _ => Ok(seen),
        }
    }
}

/// The blobs that a call mounts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CallBlobs {
    /// All of them, each once.
    pub(crate) ids: Vec<BlobId>,
    /// Those with paths. One blob may have several.
    pub(crate) placed: Vec<PlacedBlob>,
}

/// Parses the blobs that a call mounts. An id without a path may appear once, and so may a path.
pub(crate) fn call_blobs(sent: &[InputBlob]) -> Result<CallBlobs, ServiceError> {
    let mut named = CallBlobs::default();
    let mut plain: HashSet<&str> = HashSet::new();
    let mut seen: HashSet<BlobId> = HashSet::with_capacity(sent.len());
    for (index, blob) in sent.iter().enumerate() {
        let text = blob.id();
        let Ok(id) = BlobId::parse(text) else {
            return Err(ServiceError::NoSuchBlob { id: text.to_owned() });
        };
        match blob {
            InputBlob::Id(_) if !plain.insert(text) => {
                return Err(duplicate("input_blobs", text));
            }
            InputBlob::Id(_) => {}
            InputBlob::AtPath(BlobAtPath { path, .. }) => {
                let path =
                    WorkspacePath::parse(path).map_err(|fault| wrong_path(index, path, &fault))?;
                named.placed.push(PlacedBlob { blob: id.clone(), path });
            }
        }
        if seen.insert(id.clone()) {
            named.ids.push(id);
        }
    }
    check_placement(named.placed.iter().map(|placed| &placed.path)).map_err(|fault| {
        let expected = "a list whose paths do not exclude each other";
        ParamsError::wrong("input_blobs", expected, fault.to_string())
    })?;
    Ok(named)
}

/// The refusal of a path.
fn wrong_path(index: usize, path: &str, fault: &InvalidId) -> ParamsError {
    let shown: String = path.chars().take(MAX_SHOWN).collect();
    let found = format!("\"{}\": {fault}", shown.escape_debug());
    let expected = "the path of a file in the working folder";
    ParamsError::wrong(&format!("input_blobs[{index}].path"), expected, found)
}

/// The refusal of a list that names the same twice.
pub(crate) fn duplicate(parameter: &str, name: &str) -> ServiceError {
    ParamsError::wrong(parameter, "a list without repetitions", format!("`{name}` twice")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(content: &str) -> String {
        BlobId::of_digest(&Digest::of(content.as_bytes())).to_string()
    }

    fn at(content: &str, path: &str) -> InputBlob {
        InputBlob::AtPath(BlobAtPath { blob: id(content), path: path.to_owned() })
    }

    fn refusal(sent: &[InputBlob]) -> String {
        call_blobs(sent).unwrap_err().to_string()
    }

    #[test]
    fn a_blob_may_have_several_paths_and_is_mounted_once() {
        let sent = [at("a", "data/1"), InputBlob::Id(id("b")), at("a", "data/2"), at("b", "3")];
        let named = call_blobs(&sent).unwrap();
        let ids: Vec<String> = named.ids.iter().map(ToString::to_string).collect();
        assert_eq!(ids, [id("a"), id("b")]);
        let paths: Vec<&str> = named.placed.iter().map(|placed| placed.path.as_str()).collect();
        assert_eq!(paths, ["data/1", "data/2", "3"]);
    }

    #[test]
    fn wrong_blobs_are_refused_with_their_place() {
        let plain = InputBlob::Id(id("a"));
        assert!(refusal(&[plain.clone(), at("a", "x"), plain]).contains("without repetitions"));
        assert_eq!(
            refusal(&[at("a", "x"), at("b", "../y")]),
            "parameter `input_blobs[1].path` must be the path of a file in the working folder, got \
             \"../y\": path must be names separated by single slashes, without `.` and `..`"
        );
        assert_eq!(
            refusal(&[at("a", "x"), at("b", "x/y")]),
            "parameter `input_blobs` must be a list whose paths do not exclude each other, got \
             `x/y` lies below `x`, which is a file"
        );
        assert!(refusal(&[at("a", "x"), at("b", "x")]).contains("`x` is given twice"));
        let unknown = call_blobs(&[InputBlob::Id("blob:x".to_owned())]).unwrap_err();
        assert!(matches!(unknown, ServiceError::NoSuchBlob { .. }));
    }
}
