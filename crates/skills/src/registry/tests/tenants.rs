//! Skills of tenants over the shared ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rstest::rstest;

use crate::registry::cursor::CursorKey;
use crate::registry::folders::snapshot::Snapshot;
use crate::registry::index::{Index, MAX_SHARED};
use crate::registry::tests::listing::{belongs, skill};
use crate::registry::tests::{DOCUMENT, Disk, GUIDE, rejected, served};
use crate::registry::view::SkillView;
use crate::registry::{Registry, RegistryConfig, RegistryError, TenantFolders, Watching};
use wardian_vocabulary::ids::{SkillName, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Far longer than a change takes to show, on a machine that does many other things.
const SOON: Duration = Duration::from_secs(30);

fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}

fn folders(roots: &[(&str, &[PathBuf])]) -> TenantFolders {
    let roots = roots.iter().map(|(name, paths)| (tenant(name), paths.to_vec()));
    TenantFolders { roots: roots.collect(), ..TenantFolders::default() }
}

fn open(
    disk: &Disk,
    tenants: TenantFolders,
    max_watches: usize,
) -> Result<Registry, RegistryError> {
    fs::create_dir_all(disk.path("shared")).unwrap();
    let config = RegistryConfig {
        trust: Arc::default(),
        is_followed: true,
        roots: vec![disk.path("shared")],
        tenants,
        published: None,
        watching: Watching { max_watches, ..Watching::default() },
        cursor_key: CursorKey::from_bytes([1; 32]),
    };
    Registry::open(config, &[GUIDE])
}

/// The names and versions of a list, and whether each is the tenant's own.
fn seen(registry: &Registry, name: &str) -> Vec<String> {
    let view = registry.seen_by(&tenant(name));
    let page = view.list(None, 500, None).unwrap();
    let names =
        page.skills.iter().filter(|one| one.name().as_str() != wardian_formats::skill::GUIDE_NAME);
    names
        .map(|one| {
            let found = view.find(one.name(), None).unwrap();
            assert_eq!(found.snapshot.digest(), one.digest());
            let whose = if found.is_own { " own" } else { "" };
            format!("{} {}{whose}", one.name(), one.version())
        })
        .collect()
}

fn eventually(registry: &Registry, expected: &[(&str, &[&str])]) {
    let deadline = Instant::now() + SOON;
    loop {
        let found: Vec<_> = expected.iter().map(|(name, _)| seen(registry, name)).collect();
        if found.iter().zip(expected).all(|(found, (_, expected))| found == expected) {
            return;
        }
        assert!(Instant::now() < deadline, "{found:?} is not {expected:?}");
        thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn own_skills_hide_shared_ones_of_their_name_from_their_tenant_alone() {
    let disk = Disk::new();
    disk.skill("shared/a.one", "1.0.0").skill("shared/a.one@3.0.0", "3.0.0");
    disk.skill("shared/b.two", "1.0.0");
    disk.skill("acme/a.one", "2.0.0").skill("acme/z.own", "1.0.0");
    disk.skill("beta/z.own", "7.0.0").skill("beta/skills.protocol.guide", "9.0.0");
    let tenants = folders(&[("acme", &[disk.path("acme")]), ("beta", &[disk.path("beta")])]);
    let registry = open(&disk, tenants, 1_000).unwrap();
    assert_eq!(seen(&registry, "acme"), ["a.one 2.0.0 own", "b.two 1.0.0", "z.own 1.0.0 own"]);
    assert_eq!(seen(&registry, "beta"), ["a.one 3.0.0", "b.two 1.0.0", "z.own 7.0.0 own"]);
    assert_eq!(seen(&registry, "gamma"), ["a.one 3.0.0", "b.two 1.0.0"]);
    assert_eq!(served(&registry.current()).len(), 3, "others are not in the shared index");
    assert!(registry.seen_by(&tenant("gamma")).own().is_none(), "no index for those without");
    // All versions are hidden, so that a shared skill cannot take the place of the tenant's own.
    let name = SkillName::parse("a.one").unwrap();
    let version = wardian_vocabulary::ids::SkillVersion::parse("3.0.0").unwrap();
    let acme = registry.seen_by(&tenant("acme"));
    let told = acme.find(&name, Some(&version)).unwrap_err().to_string();
    assert_eq!(told, "`a.one` has no version 3.0.0; it has `2.0.0`");
    // The guide is nobody's.
    let beta = registry.seen_by(&tenant("beta"));
    assert!(rejected(beta.own().unwrap())[0].contains("is part of the server"));
    assert!(
        !beta
            .find(&SkillName::parse(wardian_formats::skill::GUIDE_NAME).unwrap(), None)
            .unwrap()
            .is_own
    );
}

#[test]
fn own_skills_of_another_tenant_are_told_by_nothing() {
    let (with, without) = (Disk::new(), Disk::new());
    for disk in [&with, &without] {
        disk.skill("shared/acme.report", "1.0.0").skill("beta/acme.reporting", "1.0.0");
        fs::create_dir_all(disk.path("acme")).unwrap();
    }
    with.skill("acme/acme.reports", "1.0.0").skill("acme/acme.sales", "1.0.0");
    let open = |disk: &Disk| {
        let (acme, beta) = ([disk.path("acme")], [disk.path("beta")]);
        open(disk, folders(&[("acme", &acme), ("beta", &beta)]), 0).unwrap()
    };
    let (with, without) = (open(&with), open(&without));
    for name in ["beta", "gamma", "local"].map(tenant) {
        let (with, without) = (with.seen_by(&name), without.seen_by(&name));
        for asked in ["acme.reports", "acme.sales", "acme.sale", "acme", "acme.report"] {
            let asked = SkillName::parse(asked).unwrap();
            let told =
                |view: &SkillView| view.find(&asked, None).map(|seen| seen.snapshot.digest());
            assert_eq!(
                told(&with).map_err(|e| e.to_string()),
                told(&without).map_err(|e| e.to_string())
            );
        }
        for namespace in [None, Some("acme"), Some("acme.sales")] {
            let names = |view: &SkillView| {
                let page = view.list(namespace, 500, None).unwrap();
                page.skills.iter().map(|one| one.name().to_string()).collect::<Vec<_>>()
            };
            assert_eq!(names(&with), names(&without));
        }
    }
    // A cursor of one tenant is as good as a made-up one for all others.
    let cursor = with.seen_by(&tenant("acme")).list(None, 1, None).unwrap().next_cursor.unwrap();
    assert!(with.seen_by(&tenant("acme")).list(None, 1, Some(&cursor)).is_ok());
    for other in ["beta", "gamma"].map(tenant) {
        let told = |cursor: &str| {
            with.seen_by(&other).list(None, 1, Some(cursor)).unwrap_err().to_string()
        };
        assert_eq!(told(&cursor), told("AAAA"));
    }
}

#[rstest]
fn own_skills_follow_their_folders(#[values(262_144, 0, 3)] max_watches: usize) {
    let disk = Disk::new();
    disk.skill("shared/a", "1.0.0").skill("acme/b", "1.0.0").skill("beta/c", "1.0.0");
    let tenants = folders(&[("acme", &[disk.path("acme")]), ("beta", &[disk.path("beta")])]);
    let registry = open(&disk, tenants, max_watches).unwrap();
    registry.follow().unwrap();
    let before = registry.seen_by(&tenant("beta"));
    disk.skill("acme/a", "2.0.0").skill("acme/b", "1.1.0");
    let unchanged: &[&str] = &["a 1.0.0", "c 1.0.0 own"];
    eventually(&registry, &[("acme", &["a 2.0.0 own", "b 1.1.0 own"]), ("beta", unchanged)]);
    let after = registry.seen_by(&tenant("beta"));
    assert!(Arc::ptr_eq(&before.shared, &after.shared), "the shared index was built again");
    assert!(Arc::ptr_eq(&before.own.unwrap(), &after.own.unwrap()), "beta's index was built again");
    disk.remove("acme/a");
    disk.skill("shared/a", "3.0.0");
    eventually(&registry, &[("acme", &["a 3.0.0", "b 1.1.0 own"]), ("gamma", &["a 3.0.0"])]);
}

/// More changes than a quarter of a processor can look at, for longer than the time that is saved up
/// for them, and quiet folders with a watch and without one.
#[test]
fn a_tenant_that_changes_its_folders_all_the_time_delays_no_other() {
    const NOISY: usize = 24;
    let disk = Disk::new();
    disk.skill("shared/a", "1.0.0").skill("zeta/b", "1.0.0");
    for skill in 0..NOISY {
        disk.skill(&format!("acme/n{skill}"), "1.0.0");
        for file in 0..300 {
            disk.write(&format!("acme/n{skill}/{file}.txt"), "x".repeat(4 << 10));
        }
    }
    let tenants = folders(&[("acme", &[disk.path("acme")]), ("zeta", &[disk.path("zeta")])]);
    // Enough for the shared root and for all of acme.
    let registry = open(&disk, tenants, NOISY + 3).unwrap();
    registry.follow().unwrap();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in (0_u64..).take_while(|_| !is_done.load(Ordering::Relaxed)) {
                for skill in 0..NOISY {
                    disk.write(&format!("acme/n{skill}/0.txt"), turn.to_string());
                }
                thread::park_timeout(Duration::from_millis(20));
            }
        });
        thread::park_timeout(Duration::from_secs(8));
        disk.skill("shared/a", "2.0.0").skill("zeta/b", "2.0.0").skill("zeta/c", "1.0.0");
        let expected = ["a 2.0.0", "b 2.0.0 own", "c 1.0.0 own"];
        let deadline = Instant::now() + SOON;
        while seen(&registry, "zeta") != expected && Instant::now() < deadline {
            thread::park_timeout(Duration::from_millis(20));
        }
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(seen(&registry, "zeta"), expected);
    });
}

/// The kernel has one watch for a folder that is read as two roots.
#[rstest]
fn a_folder_of_two_tenants_is_followed_for_both(#[values(false, true)] is_link: bool) {
    let disk = Disk::new();
    disk.skill("group/b", "1.0.0").skill("acme/own", "1.0.0");
    symlink(disk.path("group"), disk.path("link")).unwrap();
    let others = if is_link { disk.path("link") } else { disk.path("group") };
    let acme = [disk.path("acme"), disk.path("group")];
    let tenants = folders(&[("acme", &acme), ("beta", &[others])]);
    let registry = open(&disk, tenants.clone(), 1_000).unwrap();
    registry.follow().unwrap();
    eventually(
        &registry,
        &[("acme", &["b 1.0.0 own", "own 1.0.0 own"]), ("beta", &["b 1.0.0 own"])],
    );
    disk.skill("group/b", "1.1.0").skill("group/d", "1.0.0");
    disk.write("group/b/code/deep/x.txt", "1");
    let both: &[&str] = &["b 1.1.0 own", "d 1.0.0 own"];
    eventually(&registry, &[("acme", &[both, &["own 1.0.0 own"]].concat()), ("beta", both)]);
    // One of the two no longer names it: the other still follows it.
    let mut fewer = tenants;
    fewer.roots.insert(tenant("acme"), vec![disk.path("acme")]);
    registry.replace_tenants(fewer);
    eventually(&registry, &[("acme", &["own 1.0.0 own"]), ("beta", both)]);
    disk.skill("group/b", "1.2.0");
    eventually(
        &registry,
        &[("acme", &["own 1.0.0 own"]), ("beta", &["b 1.2.0 own", "d 1.0.0 own"])],
    );
}

/// Whoever owns the folder above a root can put a link in its place.
#[test]
fn folders_apart_also_when_a_root_leads_elsewhere_later() {
    let disk = Disk::new();
    disk.skill("shared/a", "1.0.0").skill("acme/now/b", "1.0.0").skill("beta/c", "1.0.0");
    disk.skill("acme/next/d", "1.0.0");
    let roots = [disk.path("acme/current")];
    symlink(disk.path("acme/now"), &roots[0]).unwrap();
    let tenants = folders(&[("acme", &roots), ("beta", &[disk.path("beta")])]);
    let registry = open(&disk, tenants, 1_000).unwrap();
    registry.follow().unwrap();
    let lead_to = |place: &str| {
        fs::remove_file(&roots[0]).unwrap();
        symlink(disk.path(place), &roots[0]).unwrap();
    };
    let both: &[&str] = &["a 1.0.0", "b 1.0.0 own"];
    eventually(&registry, &[("acme", both), ("beta", &["a 1.0.0", "c 1.0.0 own"])]);
    for place in ["beta", "beta/c", "shared", "."] {
        lead_to(place);
        thread::park_timeout(Duration::from_millis(2_500));
        eventually(&registry, &[("acme", both), ("beta", &["a 1.0.0", "c 1.0.0 own"])]);
    }
    lead_to("acme/next");
    eventually(&registry, &[("acme", &["a 1.0.0", "d 1.0.0 own"])]);
}

#[test]
fn own_skills_follow_the_settings() {
    let disk = Disk::new();
    disk.skill("shared/a", "1.0.0").skill("one/b", "1.0.0").skill("two/c", "1.0.0");
    let registry = open(&disk, folders(&[("acme", &[disk.path("one")])]), 1_000).unwrap();
    registry.follow().unwrap();
    eventually(&registry, &[("acme", &["a 1.0.0", "b 1.0.0 own"]), ("beta", &["a 1.0.0"])]);
    let held = registry.seen_by(&tenant("acme"));
    // Changes that come with the settings are not lost.
    disk.skill("one/b", "2.0.0");
    let (one, two) = ([disk.path("one")], [disk.path("two"), disk.path("one")]);
    registry.replace_tenants(folders(&[("acme", &two), ("beta", &one)]));
    let acme: &[&str] = &["a 1.0.0", "b 2.0.0 own", "c 1.0.0 own"];
    eventually(&registry, &[("acme", acme), ("beta", &["a 1.0.0", "b 2.0.0 own"])]);
    let name = SkillName::parse("b").unwrap();
    assert_eq!(held.find(&name, None).unwrap().snapshot.version().as_str(), "1.0.0");
    registry.replace_tenants(folders(&[("beta", &two)]));
    eventually(&registry, &[("acme", &["a 1.0.0"]), ("beta", acme)]);
    assert_eq!(registry.of_tenants().into_keys().collect::<Vec<_>>(), [tenant("beta")]);
    disk.skill("two/a", "5.0.0").skill("shared/d", "1.0.0");
    let beta: &[&str] = &["a 5.0.0 own", "b 2.0.0 own", "c 1.0.0 own", "d 1.0.0"];
    eventually(&registry, &[("acme", &["a 1.0.0", "d 1.0.0"]), ("beta", beta)]);
    registry.replace_tenants(TenantFolders::default());
    eventually(&registry, &[("acme", &["a 1.0.0", "d 1.0.0"]), ("beta", &["a 1.0.0", "d 1.0.0"])]);
    assert!(registry.of_tenants().is_empty());
}

#[test]
fn a_folder_of_a_tenant_that_is_away_keeps_its_skills_and_stops_a_start() {
    let disk = Disk::new();
    disk.skill("acme/b", "1.0.0");
    let tenants = folders(&[("acme", &[disk.path("acme")]), ("beta", &[disk.path("acme")])]);
    let registry = open(&disk, tenants.clone(), 1_000).unwrap();
    registry.follow().unwrap();
    fs::rename(disk.path("acme"), disk.path("away")).unwrap();
    let told =
        wardian_vocabulary::error::CauseChain(&open(&disk, tenants, 0).unwrap_err()).to_string();
    assert!(told.starts_with("a folder of skills of the tenant `acme` cannot be read: "), "{told}");
    disk.skill("shared/a", "1.0.0");
    eventually(&registry, &[("acme", &["a 1.0.0", "b 1.0.0 own"]), ("gamma", &["a 1.0.0"])]);
    disk.skill("acme/c", "1.0.0");
    let seen: &[&str] = &["a 1.0.0", "c 1.0.0 own"];
    eventually(&registry, &[("acme", seen), ("beta", seen)]);
}

#[test]
fn the_skills_of_a_tenant_are_bounded_in_number_and_in_bytes() {
    let disk = Disk::new();
    let large = "x".repeat(400 << 10);
    for name in ["a", "b", "c", "d", "e"] {
        disk.skill(&format!("acme/{name}"), "1.0.0").write(&format!("acme/{name}/x.txt"), &large);
        disk.skill(&format!("beta/{name}"), "1.0.0");
        disk.skill(&format!("shared/s{name}"), "1.0.0");
    }
    let mut tenants = folders(&[("acme", &[disk.path("acme")]), ("beta", &[disk.path("beta")])]);
    (tenants.max_size, tenants.max_folders) = (ByteCount::mebibytes(1), 4);
    let registry = open(&disk, tenants, 1_000).unwrap();
    let own = |name: &str| registry.seen_by(&tenant(name)).own.unwrap();
    // Two of them have 800 KiB, three would have more than 1 MiB. The fifth folder is not read.
    assert_eq!(own("acme").len(), 2);
    assert_eq!(own("acme").left_out()[0].folders, 1);
    let told = rejected(&own("acme"));
    assert!(told.len() == 2 && told[0].contains("all skills together would have more than 1 MiB"));
    let size: u64 = own("acme").snapshots().map(|one| one.size().as_u64()).sum();
    assert!(size <= 1 << 20, "{size}");
    assert_eq!((own("beta").len(), own("beta").left_out().len()), (4, 1), "others lose nothing");
    assert_eq!(registry.current().len(), 6);
    // What did not fit is served once there is room.
    registry.follow().unwrap();
    let (first, second) = {
        let index = own("acme");
        let mut names = index.snapshots().map(|one| one.name().to_string());
        (names.next().unwrap(), names.next().unwrap())
    };
    for served in [first, second] {
        disk.write(&format!("acme/{served}/x.txt"), "small");
    }
    let deadline = Instant::now() + SOON;
    registry.walk_soon();
    while own("acme").len() < 4 {
        assert!(Instant::now() < deadline, "{:?}", rejected(&own("acme")));
        registry.walk_soon();
        thread::park_timeout(Duration::from_millis(100));
    }
    // A skill that grows beyond the room is not served any more, instead of taking it from others.
    disk.write("acme/a/y.txt", "x".repeat(900 << 10));
    while own("acme").snapshots().any(|one| one.name().as_str() == "a") {
        assert!(Instant::now() < deadline, "{:?}", served(&own("acme")));
        thread::park_timeout(Duration::from_millis(20));
    }
    assert_eq!(own("acme").len(), 3);
}

#[test]
fn thousands_of_tenants_without_skills_have_no_index() {
    let disk = Disk::new();
    disk.skill("shared/a", "1.0.0").write("shared/a/SKILL.md", DOCUMENT);
    let registry = open(&disk, TenantFolders::default(), 0).unwrap();
    let views: Vec<_> =
        (0..2_000).map(|number| registry.seen_by(&tenant(&format!("t{number}")))).collect();
    let shared = registry.current();
    assert!(views.iter().all(|view| view.own.is_none() && Arc::ptr_eq(&view.shared, &shared)));
}

fn index(skills: &[Arc<Snapshot>], key: CursorKey) -> Arc<Index> {
    Arc::new(Index::build(skills, &[], MAX_SHARED, key))
}

fn listed(view: &SkillView, namespace: Option<&str>, limit: usize) -> Vec<Arc<Snapshot>> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = view.list(namespace, limit, cursor.as_deref()).unwrap();
        assert!(page.skills.len() <= limit);
        all.extend(page.skills);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
}

/// Names, each with the namespace that its manifest declares.
fn skills() -> impl Strategy<Value = BTreeMap<String, Option<String>>> {
    let namespace = proptest::option::of("[ab](\\.[ab]){0,2}");
    proptest::collection::btree_map("[ab](-a)?(\\.[abz]){0,2}", namespace, 0..15)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The model is one index with the tenant's skills, and the shared ones of other names.
    #[test]
    fn own_skills_over_shared_ones_are_like_one_index_of_both(
        own in skills(),
        shared in skills(),
        limit in 1_usize..5,
    ) {
        let made = |skills: &BTreeMap<String, Option<String>>| -> Vec<Arc<Snapshot>> {
            skills.iter().map(|(name, namespace)| skill(name, namespace.as_deref())).collect()
        };
        let (own, shared) = (made(&own), made(&shared));
        let names: BTreeSet<_> = own.iter().map(|one| one.name().clone()).collect();
        let visible = shared.iter().filter(|one| !names.contains(one.name()));
        let both: Vec<_> = own.iter().chain(visible).map(Arc::clone).collect();
        let key = CursorKey::from_bytes([1; 32]);
        let of_acme = key.of_tenant(&tenant("acme"));
        let model = SkillView { own: None, shared: index(&both, of_acme.clone()) };
        let view = SkillView { own: Some(index(&own, of_acme)), shared: index(&shared, key) };
        for namespace in [None, Some("a"), Some("b"), Some("a-a"), Some("a.a"), Some("b.a"), Some("c")] {
            let (found, expected) =
                (listed(&view, namespace, limit), listed(&model, namespace, limit));
            prop_assert_eq!(found.len(), expected.len(), "{:?}", namespace);
            prop_assert!(found.iter().zip(&expected).all(|(one, other)| Arc::ptr_eq(one, other)));
            if let Some(namespace) = namespace {
                let belonging = both.iter().filter(|one| belongs(one, namespace)).count();
                prop_assert_eq!(found.len(), belonging);
            }
        }
        let asked = both.iter().chain(&shared).map(|one| one.name().to_string());
        let asked: Vec<_> = asked.chain(["a.b.c", "bb", "a.zz", "z"].map(String::from)).collect();
        for name in asked {
            let name = SkillName::parse(&name).unwrap();
            let (found, expected) = (view.find(&name, None), model.find(&name, None));
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    prop_assert!(Arc::ptr_eq(&found.snapshot, &expected.snapshot));
                    prop_assert_eq!(found.is_own, names.contains(&name));
                }
                (found, expected) => {
                    let found = found.map(|_| ()).unwrap_err().to_string();
                    prop_assert_eq!(found, expected.map(|_| ()).unwrap_err().to_string());
                }
            }
        }
    }
}

#[test]
fn of_many_names_of_both_those_around_an_unknown_one_are_suggested() {
    let made = |numbers: std::ops::Range<usize>, step: usize| -> Vec<Arc<Snapshot>> {
        numbers.step_by(step).map(|n| skill(&format!("acme.skill{n:04}"), None)).collect()
    };
    let key = CursorKey::from_bytes([1; 32]);
    let (own, shared, both) = (made(0..2_000, 2), made(1..2_000, 2), made(0..2_000, 1));
    let view =
        SkillView { own: Some(index(&own, key.clone())), shared: index(&shared, key.clone()) };
    let model = SkillView { own: None, shared: index(&both, key) };
    for unknown in ["acme.skill1234x", "acme.skill1235x", "acme.skil0000", "a", "z"] {
        let name = SkillName::parse(unknown).unwrap();
        let told = |view: &SkillView| view.find(&name, None).unwrap_err().to_string();
        assert_eq!(told(&view), told(&model));
    }
}

/// A tenant with folders of its own is known before it publishes anything.
#[test]
fn what_a_tenant_publishes_first_is_seen_beside_its_own_folders() {
    let disk = Disk::new();
    disk.skill("acme/acme.own", "1.0.0");
    fs::create_dir_all(disk.path("shared")).unwrap();
    let config = RegistryConfig {
        trust: Arc::default(),
        is_followed: true,
        roots: vec![disk.path("shared")],
        tenants: folders(&[("acme", &[disk.path("acme")])]),
        published: Some(disk.path("published")),
        watching: Watching::default(),
        cursor_key: CursorKey::from_bytes([1; 32]),
    };
    let registry = Registry::open(config, &[GUIDE]).unwrap();
    registry.follow().unwrap();
    disk.skill("published/acme/acme.says@1.0.0", "1.0.0");
    registry.look_for_published(&tenant("acme"));
    eventually(&registry, &[("acme", &["acme.own 1.0.0 own", "acme.says 1.0.0 own"])]);
    disk.skill("published/acme/acme.says@2.0.0", "2.0.0");
    registry.look_for_published(&tenant("acme"));
    eventually(&registry, &[("acme", &["acme.own 1.0.0 own", "acme.says 2.0.0 own"])]);
}
