//! The names by which a run can open its mounted blobs.
//!
//! INVARIANT(one-name-one-blob): no two blobs of a run can be opened by one name. The first of the
//! call has it; the others have their ids, and the summary of the run says so.

use std::collections::HashMap;

use crate::run::record::document::DocumentOrder;
use wardian_formats::job::BlobMount;
use wardian_vocabulary::ids::{BlobId, BlobName};

/// The beginning of every blob's id. A name that looks like an id would stand in for that blob.
const ID_PREFIX: &str = "blob:";

/// Most names that a sentence has.
const MAX_NAMED: usize = 3;

/// Settles the names of the mounts of a run. A repetition has the names of its record. Returns the
/// sentence about blobs whose name another one has, if there are any.
pub(crate) fn name_mounts(
    mounts: &mut [BlobMount],
    document: Option<&DocumentOrder>,
) -> Option<String> {
    if let Some(expected) = document.and_then(|order| order.expected.as_ref()) {
        for mount in &mut *mounts {
            let recorded = expected.blobs.iter().find(|blob| blob.id == mount.id);
            mount.name = recorded.and_then(|blob| blob.name.clone());
        }
    }
    let mut taken: HashMap<BlobName, BlobId> = HashMap::new();
    let mut lost = Vec::new();
    for mount in mounts {
        let Some(name) = mount.name.take() else { continue };
        if name.as_str().starts_with(ID_PREFIX) {
            continue;
        }
        match taken.get(&name) {
            Some(first) => lost.push((name, first.clone())),
            None => {
                taken.insert(name.clone(), mount.id.clone());
                mount.name = Some(name);
            }
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

    #[test]
    fn names_that_differ_need_no_sentence_and_one_like_an_id_is_none() {
        let posing = mount("9", None).id.to_string();
        let mut mounts = [mount("1", Some("a")), mount("2", Some("A")), mount("3", Some(&posing))];
        assert_eq!(name_mounts(&mut mounts, None), None);
        assert_eq!(mounts[2].name, None);
        assert_eq!(mounts.iter().filter(|mount| mount.name.is_some()).count(), 2);
    }
}
