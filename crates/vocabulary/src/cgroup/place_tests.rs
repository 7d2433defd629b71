//! Places for cgroups, on a folder that imitates the files of the kernel.

use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;

use super::*;

const ME: u32 = 4711;

/// A folder with the files of `/proc/self` and of the cgroup file system.
struct Imitation(tempfile::TempDir);

impl Imitation {
    /// A system whose process is in the cgroup at `path`.
    fn new(path: &str) -> Self {
        let made = Self(tempfile::tempdir().unwrap());
        let top = made.0.path().join("cgroup");
        fs::create_dir_all(made.0.path().join("self")).unwrap();
        let mountinfo = format!("30 1 0:26 / {} rw - cgroup2 cgroup2 rw\n", top.display());
        fs::write(made.0.path().join("self/mountinfo"), mountinfo).unwrap();
        fs::write(made.0.path().join("self/cgroup"), format!("0::{path}\n")).unwrap();
        made
    }

    fn folder(&self, path: &str) -> PathBuf {
        self.0.path().join("cgroup").join(path.trim_start_matches('/'))
    }

    /// A cgroup with these processes.
    fn cgroup(self, path: &str, processes: &[u32]) -> Self {
        let folder = self.folder(path);
        fs::create_dir_all(&folder).unwrap();
        let members: String = processes.iter().map(|process| format!("{process}\n")).collect();
        let populated = i32::from(!processes.is_empty());
        for (name, text) in [
            ("cgroup.procs", members),
            ("cgroup.type", "domain\n".to_owned()),
            ("cgroup.subtree_control", String::new()),
            ("cgroup.controllers", "cpuset cpu io memory hugetlb pids\n".to_owned()),
            ("cgroup.events", format!("populated {populated}\nfrozen 0\n")),
        ] {
            fs::write(folder.join(name), text).unwrap();
        }
        self
    }

    fn write(self, path: &str, text: &str) -> Self {
        fs::write(self.folder(path), text).unwrap();
        self
    }

    fn find(&self) -> Result<CgroupPlace, CgroupUnavailable> {
        CgroupPlace::find_for(ME, &self.0.path().join("self"))
    }
}

#[test]
fn a_cgroup_without_others_is_a_place() {
    let system = Imitation::new("/wardian.service").cgroup("/", &[1]);
    let system = system.cgroup("/wardian.service", &[ME]).cgroup("/wardian.service/.control", &[9]);
    let place = system.find().unwrap();
    assert_eq!(place.folder(), system.folder("/wardian.service"));
    assert!(!place.has_gateway);
    assert_eq!(place.controllers(), Controller::ALL);
    assert_eq!(names_of(place.controllers()), "memory, pids, cpu");
}

#[test]
fn what_is_missing_of_the_controllers_is_left_out() {
    let system = Imitation::new("/a").cgroup("/a", &[ME]);
    let system = system.write("/a/cgroup.controllers", "pids memory.x cpuset\n");
    assert_eq!(system.find().unwrap().controllers(), [Controller::Pids]);
    let system = system.write("/a/cgroup.controllers", "hugetlb\n");
    assert!(matches!(system.find(), Err(CgroupUnavailable::NoControllers { .. })));
}

#[test]
fn a_server_that_was_started_in_gateway_has_the_cgroup_above() {
    let system = Imitation::new("/unit/gateway").cgroup("/unit", &[]);
    let system = system.cgroup("/unit/gateway", &[ME]).cgroup("/unit/wardian-worker-3", &[12]);
    let place = system.find().unwrap();
    assert_eq!((place.folder(), place.has_gateway), (system.folder("/unit").as_path(), true));
    // The cgroup above belongs to others.
    let system = system.cgroup("/unit", &[77]);
    let place = system.find().unwrap();
    let own = system.folder("/unit/gateway");
    assert_eq!((place.folder(), place.has_gateway), (own.as_path(), false));
}

#[test]
fn own_cgroup_only_and_never_one_that_others_use() {
    let shared = Imitation::new("/session").cgroup("/session", &[1, ME, 0]);
    let error = shared.find().unwrap_err();
    assert!(matches!(error, CgroupUnavailable::Shared { others: 2, .. }), "{error}");
    assert!(error.advice().contains("Delegate=memory pids cpu"));
    // Another server, or anything else, lives below it.
    for child in [
        "gateway",
        "docker",
        "worker",
        "worker-1",
        "wardian-worker-x",
        "wardian-worker-",
        "my-wardian-worker-1",
    ] {
        let system = Imitation::new("/a").cgroup("/a", &[ME]);
        let system = system.cgroup(&format!("/a/{child}"), &[5]);
        match system.find().unwrap_err() {
            CgroupUnavailable::Occupied { child: named, .. } => assert_eq!(named, child),
            other => panic!("{child}: {other}"),
        }
        let system = system.cgroup(&format!("/a/{child}"), &[]);
        assert!(system.find().is_ok(), "{child} is empty");
    }
}

#[test]
fn every_reason_against_a_place_is_named_with_advice() {
    let nothing = Imitation::new("/a");
    fs::write(nothing.0.path().join("self/mountinfo"), "1 1 0:1 / /proc rw - proc proc rw\n")
        .unwrap();
    let root = Imitation::new("/").cgroup("/", &[ME]);
    fs::remove_file(root.folder("/cgroup.type")).unwrap();
    let threaded =
        Imitation::new("/a").cgroup("/a", &[ME]).write("/a/cgroup.type", "domain threaded\n");
    let outside = Imitation::new("/../b").cgroup("/", &[ME]).cgroup("/b", &[ME]);
    for (system, says) in [
        (nothing, "no cgroups of version 2"),
        (Imitation::new("/gone"), "not visible"),
        (outside, "not visible"),
        (root, "root cgroup"),
        (threaded, "domain threaded"),
    ] {
        let error = system.find().unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert!(!error.advice().is_empty());
    }
}

#[test]
fn a_cgroup_that_this_user_may_not_change_is_no_place() {
    if rustix::process::geteuid().is_root() {
        // Root may write to any file of the imitation; a missing one is the same refusal.
        let system = Imitation::new("/a").cgroup("/a", &[ME]);
        fs::remove_file(system.folder("/a/cgroup.subtree_control")).unwrap();
        assert!(matches!(system.find(), Err(CgroupUnavailable::ReadOnly { .. })));
        return;
    }
    let system = Imitation::new("/a").cgroup("/a", &[ME]);
    let file = system.folder("/a/cgroup.subtree_control");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(system.find(), Err(CgroupUnavailable::ReadOnly { .. })));
}

proptest! {
    /// Whatever processes are where, a place has none of others in it or below it.
    #[test]
    fn own_cgroup_only_whatever_is_where(
        above in prop::collection::vec(1_u32..5, 0..3),
        beside in prop::collection::vec(0_u32..5, 0..3),
        children in prop::collection::vec(("[a-z]{1,8}|gateway|wardian-worker-[0-9]", any::<bool>()), 0..4),
        is_in_gateway: bool,
    ) {
        let own = if is_in_gateway { "/unit/gateway" } else { "/unit" };
        let mut members = beside.clone();
        members.push(ME);
        let mut system = Imitation::new(own).cgroup("/unit", &above).cgroup(own, &members);
        let mut has_strangers = false;
        for (name, is_populated) in &children {
            if is_in_gateway && name == GATEWAY { continue }
            let child = format!("/unit/{name}");
            system = system.cgroup(&child, if *is_populated { &[9] } else { &[] });
            has_strangers |= !is_of_a_process(name) && name != BACKGROUND
                && is_populated_by(&children, name);
        }
        match system.find() {
            Ok(place) => {
                prop_assert!(beside.is_empty());
                let uses_unit = place.folder() == system.folder("/unit");
                prop_assert!(!uses_unit || !has_strangers);
                prop_assert!(!uses_unit || !is_in_gateway || above.is_empty());
            }
            Err(_) => prop_assert!(!beside.is_empty() || has_strangers),
        }
    }
}

/// What the last cgroup of that name was made as.
fn is_populated_by(children: &[(String, bool)], name: &str) -> bool {
    children.iter().rev().find(|(other, _)| other == name).is_some_and(|(_, is)| *is)
}
