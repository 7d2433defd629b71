//! Cgroups of the real system, with processes of the test. Only root, or a user with a delegated
//! cgroup, can make some; elsewhere the refusal is checked.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU32;

use super::*;
use crate::cgroup::mounts::{cgroup_mounts, own_path};
use crate::units::ByteCount;

const LIMITS: CgroupLimits =
    CgroupLimits { memory: ByteCount::mebibytes(64), processes: 5, weight: 70 };

/// A cgroup of the test below its own one, removed at the end with all that is in it.
struct Ground {
    folder: PathBuf,
    /// What the tests can turn on there.
    controllers: Vec<Controller>,
}

impl Ground {
    fn new() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mounts = cgroup_mounts(&fs::read("/proc/self/mountinfo").unwrap());
        let path = own_path(&fs::read("/proc/self/cgroup").unwrap())?;
        let own = mounts.first()?.folder_of(&path)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = own.join(format!("wardian-test-{}-{number}", std::process::id()));
        if let Err(error) = fs::create_dir(&folder) {
            println!("no cgroups can be made here ({error}): only the refusal is checked");
            let expected = [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem];
            assert!(expected.contains(&error.kind()), "{error}");
            return None;
        }
        let text = fs::read_to_string(folder.join("cgroup.controllers")).unwrap();
        let is_there = |one: &Controller| text.split_whitespace().any(|name| name == one.name());
        let controllers: Vec<_> = Controller::ALL.into_iter().filter(is_there).collect();
        if controllers.is_empty() {
            println!("this system has no controllers in version 2: limits are not checked");
        }
        Some(Self { folder, controllers })
    }

    /// A process that waits, in the cgroup of the test.
    fn process(&self) -> Sleeper {
        let child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
        write(&self.folder.join("cgroup.procs"), &child.id().to_string()).unwrap();
        Sleeper(child)
    }

    fn place(&self, server: &Sleeper) -> CgroupPlace {
        CgroupPlace {
            folder: self.folder.clone(),
            has_gateway: false,
            controllers: self.controllers.clone(),
            process: server.0.id(),
        }
    }

    fn children(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap().map(Result::unwrap);
        let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
        let mut names: Vec<_> =
            folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.join(path)).unwrap().trim().to_owned()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        for child in self.children() {
            remove_soon(&self.folder.join(child)).unwrap();
        }
        remove_soon(&self.folder).unwrap();
    }
}

struct Sleeper(Child);

impl Sleeper {
    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().unwrap();
    }
}

#[test]
fn controllers_that_were_on_before_stay_on() {
    let Some(ground) = Ground::new() else { return };
    let server = ground.process();
    let place = ground.place(&server);
    let Some(first) = ground.controllers.first() else { return };
    write(&ground.folder.join("../cgroup.procs"), &server.0.id().to_string()).unwrap();
    write(&ground.folder.join("cgroup.subtree_control"), &format!("+{}", first.name())).unwrap();
    let before = ground.read("cgroup.subtree_control");
    let tree = CgroupTree::take(CgroupPlace { has_gateway: false, ..place }).unwrap();
    tree.leave();
    assert_eq!(ground.read("cgroup.subtree_control"), before);
}

#[test]
fn processes_get_cgroups_of_their_own_and_no_cgroup_left_behind() {
    let Some(ground) = Ground::new() else { return };
    let (server, mut worker) = (ground.process(), ground.process());
    // Somebody else is there.
    let error = CgroupTree::take(ground.place(&server)).unwrap_err();
    assert!(matches!(error, CgroupUnavailable::Shared { others: 1, .. }), "{error}");
    assert_eq!(ground.children(), [""; 0], "the place is not as it was before");
    assert_eq!(ground.read("cgroup.procs").lines().count(), 2);

    write(&ground.folder.join("../cgroup.procs"), &worker.0.id().to_string()).unwrap();
    let tree = CgroupTree::take(ground.place(&server)).unwrap();
    assert_eq!(ground.read("cgroup.procs"), "");
    assert_eq!(ground.read("gateway/cgroup.procs"), server.0.id().to_string());
    let (one, other) = (tree.make_worker(&LIMITS).unwrap(), tree.make_template(&LIMITS).unwrap());
    assert_eq!(
        ground.children(),
        ["gateway", "wardian-background", "wardian-template-2", "wardian-worker-1"]
    );
    one.enter(worker.0.id()).unwrap();
    assert_eq!(ground.read("wardian-worker-1/cgroup.procs"), worker.0.id().to_string());
    for (file, controller, expected) in [
        ("memory.max", Controller::Memory, "67108864"),
        ("memory.oom.group", Controller::Memory, "1"),
        ("pids.max", Controller::Pids, "5"),
        ("cpu.weight", Controller::Cpu, "70"),
    ] {
        if tree.controllers().contains(&controller) {
            assert_eq!(ground.read(&format!("wardian-worker-1/{file}")), expected);
        }
    }
    assert_eq!(one.shortage(), None);
    other.remove().unwrap();
    remove_soon(one.folder()).unwrap();
    assert!(!worker.is_alive(), "what was in it has not ended");
    // A process that has ended meanwhile is not an error.
    let late = tree.make_worker(&LIMITS).unwrap();
    let gone = worker.0.id();
    drop(worker);
    late.enter(gone).unwrap();
    late.remove().unwrap();
    tree.leave();
    assert_eq!(ground.children(), [""; 0]);
    assert_eq!(ground.read("cgroup.procs"), server.0.id().to_string());
}

#[test]
fn what_a_killed_server_leaves_is_removed_and_nothing_else() {
    let Some(ground) = Ground::new() else { return };
    let mut left = ground.process();
    let server = ground.process();
    for name in [
        "wardian-worker-1",
        "wardian-worker-77",
        "wardian-template-3",
        "wardian-worker-x",
        "others",
    ] {
        fs::create_dir(ground.folder.join(name)).unwrap();
    }
    write(&ground.folder.join("wardian-worker-77/cgroup.procs"), &left.0.id().to_string()).unwrap();
    let tree = CgroupTree::take(ground.place(&server)).unwrap();
    assert_eq!(ground.children(), ["gateway", "others", "wardian-background", "wardian-worker-x"]);
    assert!(!left.is_alive());
    // A name that is taken is passed over.
    fs::create_dir(ground.folder.join("wardian-worker-1")).unwrap();
    let made = tree.make_worker(&LIMITS).unwrap();
    assert!(made.folder().ends_with("wardian-worker-2"), "{made:?}");
    made.remove().unwrap();
}

#[test]
fn a_server_in_gateway_stays_there() {
    let Some(ground) = Ground::new() else { return };
    let server = ground.process();
    fs::create_dir(ground.folder.join(GATEWAY)).unwrap();
    write(&ground.folder.join("gateway/cgroup.procs"), &server.0.id().to_string()).unwrap();
    let place = CgroupPlace { has_gateway: true, ..ground.place(&server) };
    let tree = CgroupTree::take(place).unwrap();
    tree.make_worker(&LIMITS).unwrap().remove().unwrap();
    let mut low = Command::new("sleep").arg("600").spawn().unwrap();
    tree.move_to_background(low.id()).unwrap();
    assert_eq!(ground.read("wardian-background/cgroup.procs"), low.id().to_string());
    low.kill().unwrap();
    low.wait().unwrap();
    tree.leave();
    assert_eq!(ground.children(), [GATEWAY]);
    assert_eq!(ground.read("gateway/cgroup.procs"), server.0.id().to_string());
}
