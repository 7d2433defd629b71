//! Skills are found by name and version, and listed page by page.

use crate::registry::cursor::CursorKey;
use crate::registry::index::Index;
use crate::registry::tests::{DOCUMENT, Disk, GUIDE, open, rejected, served};
use crate::registry::{BuiltIn, Registry, RegistryConfig, RegistryError, TenantFolders, Watching};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{SkillName, SkillVersion};

fn find(index: &Index, name: &str, version: Option<&str>) -> Result<String, RegistryError> {
    let version = version.map(|version| SkillVersion::parse(version).unwrap());
    let found = index.find(&SkillName::parse(name).unwrap(), version.as_ref())?;
    Ok(format!("{} {}", found.name(), found.version()))
}

/// The names on all pages of `limit` skills.
fn pages(index: &Index, namespace: Option<&str>, limit: usize) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let page = index.list(namespace, limit, cursor.as_deref()).unwrap();
        pages.push(page.skills.iter().map(|one| one.name().to_string()).collect());
        cursor = page.next_cursor;
        if cursor.is_none() {
            return pages;
        }
    }
}

fn many() -> Registry {
    let disk = Disk::new();
    disk.skill("acme.sales.report", "1.0.0").skill("acme.sales.report@1.10.0", "1.10.0");
    disk.skill("acme.sales.report@1.9.0", "1.9.0")
        .skill("acme.sales.report@2.0.0-rc.1", "2.0.0-rc.1");
    disk.skill("acme.salesforce", "0.1.0")
        .skill("beta", "1.0.0-beta.1")
        .skill("beta@1.0.0-beta.2", "1.0.0-beta.2");
    disk.open()
}

#[test]
fn the_latest_version_is_the_highest_that_is_no_prerelease() {
    let index = many().current();
    assert_eq!(find(&index, "acme.sales.report", None).unwrap(), "acme.sales.report 1.10.0");
    assert_eq!(
        find(&index, "acme.sales.report", Some("1.9.0")).unwrap(),
        "acme.sales.report 1.9.0"
    );
    assert_eq!(find(&index, "beta", None).unwrap(), "beta 1.0.0-beta.2");
    let listed = index.list(None, 50, None).unwrap();
    let listed: Vec<_> =
        listed.skills.iter().map(|one| format!("{} {}", one.name(), one.version())).collect();
    assert_eq!(
        listed,
        [
            "acme.sales.report 1.10.0",
            "acme.salesforce 0.1.0",
            "beta 1.0.0-beta.2",
            "skills.protocol.guide 0.1.0"
        ]
    );
}

#[test]
fn unknown_names_are_answered_with_suggestions() {
    let index = many().current();
    for (name, version, kind, expected) in [
        (
            "acme.sales.reprot",
            None,
            ErrorKind::SkillNotFound,
            "no skill is called `acme.sales.reprot`; did you mean `acme.sales.report`?",
        ),
        (
            "sales.report",
            None,
            ErrorKind::SkillNotFound,
            "no skill is called `sales.report`; did you mean `acme.sales.report`?",
        ),
        ("zebra", None, ErrorKind::SkillNotFound, "no skill is called `zebra`"),
        (
            "acme.sales.report",
            Some("3.0.0"),
            ErrorKind::VersionNotFound,
            "`acme.sales.report` has no version 3.0.0; it has `2.0.0-rc.1`, `1.10.0`, `1.9.0` and `1.0.0`",
        ),
    ] {
        let error = find(&index, name, version).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, expected));
    }
}

#[test]
fn a_list_is_sorted_and_ends() {
    let index = many().current();
    let all = ["acme.sales.report", "acme.salesforce", "beta", "skills.protocol.guide"];
    assert_eq!(pages(&index, None, 500), [all.to_vec()]);
    assert_eq!(pages(&index, None, 4), [all.to_vec()]);
    assert_eq!(pages(&index, None, 3), [all[..3].to_vec(), all[3..].to_vec()]);
    assert_eq!(pages(&index, None, 1).concat(), all);
}

#[test]
fn a_namespace_is_the_field_or_the_beginning_of_the_name() {
    let index = many().current();
    for (namespace, expected) in [
        ("acme", &["acme.sales.report", "acme.salesforce"][..]),
        ("acme.sales", &["acme.sales.report"]),
        ("acme.sales.report", &["acme.sales.report"]),
        ("skills", &["skills.protocol.guide"]),
        ("sales", &[]),
        ("acm", &[]),
    ] {
        assert_eq!(pages(&index, Some(namespace), 1).concat(), expected, "{namespace}");
    }
    let disk = Disk::new();
    disk.skill("x.y", "1.0.0");
    let manifest = "name = \"x.y\"\nversion = \"1.0.0\"\ndescription = \"d\"\nkind = \"instruction\"\nnamespace = \"crm.tools\"\n";
    disk.write("x.y/skill.toml", manifest);
    let index = disk.open().current();
    for namespace in ["crm", "crm.tools", "x"] {
        assert_eq!(pages(&index, Some(namespace), 9).concat(), ["x.y"]);
    }
}

#[test]
fn pages_survive_skills_that_come_and_go() {
    let disk = Disk::new();
    for name in ["a", "b", "c", "d", "e"] {
        disk.skill(name, "1.0.0");
    }
    let registry = disk.open();
    let first = registry.current().list(None, 2, None).unwrap();
    let cursor = first.next_cursor.unwrap();
    disk.remove("b");
    disk.remove("c");
    disk.skill("a2", "1.0.0").skill("bb", "1.0.0");
    let index = registry.refresh();
    let second = index.list(None, 3, Some(&cursor)).unwrap();
    let names: Vec<_> = second.skills.iter().map(|one| one.name().as_str()).collect();
    assert_eq!(names, ["bb", "d", "e"]);
}

#[test]
fn parameters_of_a_list_are_checked() {
    let index = many().current();
    let cursor = index.list(None, 1, None).unwrap().next_cursor.unwrap();
    for (namespace, limit, cursor, expected) in [
        (
            Some("Acme"),
            1,
            None,
            "`namespace` must be segments of a-z and 0-9 joined by dots, such as `acme.sales`",
        ),
        (
            Some(""),
            1,
            None,
            "`namespace` must be segments of a-z and 0-9 joined by dots, such as `acme.sales`",
        ),
        (None, 0, None, "`limit` must be from 1 to 500"),
        (None, 501, None, "`limit` must be from 1 to 500"),
        (None, 1, Some("AAAA"), "`cursor` must be a `next_cursor` that this server returned"),
        (
            Some("acme"),
            1,
            Some(cursor.as_str()),
            "`cursor` belongs to a list with another `namespace`",
        ),
    ] {
        let error = index.list(namespace, limit, cursor).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::InvalidParams, expected)
        );
    }
}

#[test]
fn earlier_roots_win_and_the_hidden_skill_is_reported() {
    let (first, second) = (Disk::new(), Disk::new());
    first
        .skill("a", "1.0.0")
        .skill("b@1.0.0", "1.0.0")
        .skill("b", "1.0.0")
        .skill("skills.protocol.guide@9.0.0", "9.0.0");
    second.skill("a", "1.0.0").skill("a@2.0.0", "2.0.0");
    second.write("a/extra.md", "second");
    let index = open(&[first.0.path(), second.0.path()]).unwrap().current();
    assert_eq!(served(&index), ["a 2.0.0", "a 1.0.0", "b 1.0.0"]);
    let (name, version) = (SkillName::parse("a").unwrap(), SkillVersion::parse("1.0.0").unwrap());
    assert!(index.find(&name, Some(&version)).unwrap().read_file("extra.md").is_err());
    assert_eq!(
        rejected(&index),
        [
            "b@1.0.0: .: error: 1.0.0 of `b` is in the folder `b` of root 1",
            "skills.protocol.guide@9.0.0: .: error: `skills.protocol.guide` is part of the server, so its name cannot be used",
            "a: .: warning: 1.0.0 of `a` is in the folder `a` of root 1",
        ]
    );
}

const BUNDLED: BuiltIn = BuiltIn {
    name: "hello.world",
    files: &[
        (
            "skill.toml",
            b"name = \"hello.world\"\nversion = \"8.0.0\"\ndescription = \"b\"\nkind = \"instruction\"\n",
        ),
        ("SKILL.md", DOCUMENT.as_bytes()),
    ],
};

#[test]
fn a_folder_takes_the_place_of_a_bundled_skill_and_never_of_the_guide() {
    let disk = Disk::new();
    disk.skill("hello.world", "7.0.0").skill("skills.protocol.guide", "9.0.0");
    let open = |root: &std::path::Path| {
        let config = RegistryConfig {
            trust: std::sync::Arc::default(),
            is_followed: false,
            roots: vec![root.to_owned()],
            tenants: TenantFolders::default(),
            published: None,
            watching: Watching::default(),
            cursor_key: CursorKey::generate().unwrap(),
        };
        Registry::open(config, &[GUIDE, BUNDLED]).unwrap().current()
    };
    let index = open(disk.0.path());
    // No version of the bundled skill is left: two programs under one name would confuse callers.
    let all: Vec<_> =
        index.snapshots().map(|one| format!("{} {}", one.name(), one.version())).collect();
    assert_eq!(all, ["hello.world 7.0.0", "skills.protocol.guide 0.1.0"]);
    assert_eq!(index.replaced(), [SkillName::parse("hello.world").unwrap()]);
    assert_eq!(rejected(&index).len(), 1, "the guide's name: {:?}", rejected(&index));

    // An invalid folder replaces no other.
    disk.write("hello.world/skill.toml", "broken");
    let index = open(disk.0.path());
    assert!(index.find(&SkillName::parse("hello.world").unwrap(), None).is_ok());
    assert!(index.replaced().is_empty());
}

#[test]
fn a_missing_root_is_shown_to_the_operator_alone() {
    let disk = Disk::new();
    let error = open(&[&disk.path("nowhere")]).unwrap_err();
    assert_eq!(error.to_string(), "a folder of skills cannot be read");
    let chain = wardian_vocabulary::error::CauseChain(&error).to_string();
    assert!(chain.contains("nowhere: ") && chain.contains("No such file"), "{chain}");
    assert_eq!(error.kind(), ErrorKind::Internal);
}

#[test]
fn an_invalid_built_in_skill_stops_the_start() {
    let broken = BuiltIn { name: "built.in", files: &[("SKILL.md", b"no frontmatter")] };
    let config = RegistryConfig {
        trust: std::sync::Arc::default(),
        roots: Vec::new(),
        tenants: TenantFolders::default(),
        published: None,
        watching: Watching::default(),
        is_followed: false,
        cursor_key: CursorKey::generate().unwrap(),
    };
    let error = Registry::open(config, &[broken]).unwrap_err();
    assert_eq!(error.to_string(), "the built-in skill `built.in` is invalid");
    let chain = wardian_vocabulary::error::CauseChain(&error).to_string();
    assert!(chain.contains("SKILL.md:1:1: error: the first line must be `---`"), "{chain}");
}

#[test]
fn a_skill_may_be_called_like_a_file_that_python_leaves_behind() {
    let disk = Disk::new();
    disk.skill("acme.pyc", "1.0.0");
    assert_eq!(find(&disk.open().current(), "acme.pyc", None).unwrap(), "acme.pyc 1.0.0");
}
