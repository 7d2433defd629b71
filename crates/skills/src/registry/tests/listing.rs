//! Namespaces are found without looking at every skill, and give what looking at all would give.

use std::sync::Arc;

use proptest::prelude::*;

use crate::registry::cursor::CursorKey;
use crate::registry::folders::snapshot::{Snapshot, of_built_in};
use crate::registry::index::{Index, MAX_SHARED};
use wardian_vocabulary::ids::SkillName;

/// A skill whose manifest declares a namespace.
pub(super) fn skill(name: &str, namespace: Option<&str>) -> Arc<Snapshot> {
    let namespace = namespace.map(|text| format!("namespace = \"{text}\"\n")).unwrap_or_default();
    let manifest = format!(
        "name = \"{name}\"\nversion = \"1.0.0\"\ndescription = \"d\"\nkind = \"instruction\"\n{namespace}"
    );
    let document = b"---\nname: A\nshort_description: d\n---\n\n# A\n";
    let files = [("skill.toml", manifest.as_bytes()), ("SKILL.md", &document[..])];
    let reading = of_built_in(name, &files);
    reading.snapshot.unwrap_or_else(|| panic!("{:?}", reading.diagnostics))
}

pub(super) fn belongs(one: &Snapshot, namespace: &str) -> bool {
    let is_in = |text: &str| text == namespace || text.starts_with(&format!("{namespace}."));
    is_in(one.name().as_str()) || one.manifest().namespace.as_deref().is_some_and(is_in)
}

fn listed(index: &Index, namespace: &str, limit: usize) -> Vec<String> {
    let (mut names, mut cursor) = (Vec::new(), None);
    loop {
        let page = index.list(Some(namespace), limit, cursor.as_deref()).unwrap();
        assert!(page.skills.len() <= limit);
        names.extend(page.skills.iter().map(|one| one.name().to_string()));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return names;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_namespace_lists_what_belongs_to_it(
        skills in proptest::collection::btree_map(
            "[ab](-a)?(\\.[abz]){0,2}",
            proptest::option::of("[ab](\\.[ab]){0,2}"),
            0..20,
        ),
        limit in 1_usize..5,
    ) {
        let skills: Vec<_> =
            skills.iter().map(|(name, namespace)| skill(name, namespace.as_deref())).collect();
        let index = Index::build(&skills, &[], MAX_SHARED, CursorKey::from_bytes([1; 32]));
        for namespace in ["a", "b", "a-a", "a.a", "a.b", "b.a", "a.a.a", "a.z", "c"] {
            let expected: Vec<_> = index
                .snapshots()
                .filter(|one| belongs(one, namespace))
                .map(|one| one.name().to_string())
                .collect();
            prop_assert_eq!(listed(&index, namespace, limit), expected, "{}", namespace);
        }
    }
}

#[test]
fn of_many_names_those_around_an_unknown_one_are_suggested() {
    let skills: Vec<_> = (0..2_000).map(|n| skill(&format!("acme.skill{n:04}"), None)).collect();
    let index = Index::build(&skills, &[], MAX_SHARED, CursorKey::from_bytes([1; 32]));
    let unknown = SkillName::parse("acme.skill1234x").unwrap();
    let told = index.find(&unknown, None).unwrap_err().to_string();
    assert!(told.contains("`acme.skill1234`"), "{told}");
}
