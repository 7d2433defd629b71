//! The names by which a run can open its mounted blobs.
//!
//! INVARIANT(one-name-one-blob): no two blobs of a run can be opened by one name. Names that blobs
//! were given last come before earlier ones, so that a former name hides no present one; among
//! either, the first of the call has it. The others have their ids, and the summary of the run says
//! so.

use std::collections::HashMap;

use wardian_formats::job::BlobMount;
use wardian_formats::provenance::DocumentBlob;
use wardian_vocabulary::ids::{BlobId, BlobName};

/// The beginning of every blob's id. A name that looks like an id would stand in for that blob.
const ID_PREFIX: &str = "blob:";

/// Most names that a sentence has.
const MAX_NAMED: usize = 3;

/// Settles the names of the mounts of a run. A repetition has the names of its record. Returns the
/// sentence about blobs whose name another one has, if there are any.
pub(crate) fn name_mounts(
    mounts: &mut [BlobMount],
    recorded: Option<&[DocumentBlob]>,
) -> Option<String> {
    if let Some(recorded) = recorded {
        for mount in &mut *mounts {
            let recorded = recorded.iter().find(|blob| blob.id == mount.id);
            mount.name = recorded.and_then(|blob| blob.name.clone());
            mount.other_names = recorded.map(|blob| blob.other_names.clone()).unwrap_or_default();
        }
    }
    let mut taken: HashMap<BlobName, BlobId> = HashMap::new();
    let mut lost = Vec::new();
    let mut is_won = |id: &BlobId, name: &BlobName| {
        if name.as_str().starts_with(ID_PREFIX) {
            return false;
        }
        let owner = taken.entry(name.clone()).or_insert_with(|| id.clone());
        if owner != id {
            lost.push((name.clone(), owner.clone()));
        }
        owner == id
    };
    for mount in &mut *mounts {
        mount.name = mount.name.take().filter(|name| is_won(&mount.id, name));
    }
    for mount in mounts {
        mount.other_names.retain(|name| is_won(&mount.id, name));
        if mount.name.is_none() && !mount.other_names.is_empty() {
            mount.name = Some(mount.other_names.remove(0));
        }
    }
    sentence(&lost)
}

fn sentence(lost: &[(BlobName, BlobId)]) -> Option<String> {
    let mut named: Vec<&(BlobName, BlobId)> = lost.iter().collect();
    named.dedup();
    let each = named.iter().take(MAX_NAMED).map(|(name, first)| format!("`{name}` is {first}"));
    let list = each.collect::<Vec<_>>().join(", ");
    let more = if named.len() > MAX_NAMED { " and so on" } else { "" };
    let text = format!("Mounted blobs share a name: {list}{more}; open the others by their ids.");
    (!lost.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_vocabulary::ids::Digest;
    use wardian_vocabulary::units::ByteCount;

    fn mount(content: &str, name: Option<&str>) -> BlobMount {
        BlobMount {
            id: BlobId::of_digest(&Digest::of(content.as_bytes())),
            kind: "text/csv".to_owned(),
            size: ByteCount::bytes(1),
            name: name.map(|name| BlobName::parse(name).unwrap()),
            other_names: Vec::new(),
            paths: Vec::new(),
        }
    }

    #[test]
    fn one_name_one_blob() {
        let mut mounts = [
            mount("1", Some("a.csv")),
            mount("2", Some("a.csv")),
            mount("3", None),
            mount("4", Some("b.csv")),
            mount("5", Some("a.csv")),
        ];
        let text = name_mounts(&mut mounts, None).unwrap();
        let names: Vec<_> =
            mounts.iter().map(|mount| mount.name.as_ref().map(BlobName::as_str)).collect();
        assert_eq!(names, [Some("a.csv"), None, None, Some("b.csv"), None]);
        let expected = format!(
            "Mounted blobs share a name: `a.csv` is {}; open the others by their ids.",
            mounts[0].id
        );
        assert_eq!(text, expected);
    }

    /// A mount with names, the latest first.
    fn known(content: &str, names: &[&str]) -> BlobMount {
        let names = names.iter().map(|name| BlobName::parse(name).unwrap());
        let mut names = names.collect::<Vec<_>>().into_iter();
        BlobMount { name: names.next(), other_names: names.collect(), ..mount(content, None) }
    }

    fn names_of(mount: &BlobMount) -> Vec<&str> {
        mount.names().map(BlobName::as_str).collect()
    }

    #[test]
    fn one_name_one_blob_among_all_names() {
        let mut mounts = [
            known("1", &["old.csv", "in.csv", "shared.csv"]),
            known("2", &["in.csv", "shared.csv", "own.csv"]),
            known("3", &["in.csv", "spare.csv", "more.csv"]),
        ];
        let text = name_mounts(&mut mounts, None).unwrap();
        assert_eq!(names_of(&mounts[0]), ["old.csv", "shared.csv"], "a former name yields");
        assert_eq!(names_of(&mounts[1]), ["in.csv", "own.csv"], "the latest name of the second");
        assert_eq!(names_of(&mounts[2]), ["spare.csv", "more.csv"], "it has what is left");
        assert!(text.contains(&format!("`in.csv` is {}", mounts[1].id)), "{text}");
        assert!(text.contains(&format!("`shared.csv` is {}", mounts[0].id)), "{text}");
        let settled = mounts.clone();
        assert_eq!(name_mounts(&mut mounts, None), None, "names of a record stay as they are");
        assert_eq!(mounts, settled);
    }

    #[test]
    fn names_that_differ_need_no_sentence_and_one_like_an_id_is_none() {
        let posing = mount("9", None).id.to_string();
        let mut mounts = [mount("1", Some("a")), mount("2", Some("A")), mount("3", Some(&posing))];
        assert_eq!(name_mounts(&mut mounts, None), None);
        assert_eq!(mounts[2].name, None);
        assert_eq!(mounts.iter().filter(|mount| mount.name.is_some()).count(), 2);
    }
}
