//! Finds out whether this process has a place for cgroups, without changing anything.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::cgroup::mounts::{cgroup_mounts, own_path};

/// The name of the cgroup that the server itself is in.
pub(super) const GATEWAY: &str = "gateway";

/// The name of the cgroup of work with low priority.
pub(super) const BACKGROUND: &str = "wardian-background";

/// The names of cgroups of single processes are one of these, a hyphen and a number. Nobody else
/// gives such names, because what is in a cgroup of such a name is killed at the next start.
pub(super) const KINDS: [&str; 2] = ["wardian-worker", "wardian-template"];

/// What the kernel limits in a cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// The memory.
    Memory,
    /// The number of processes and threads.
    Pids,
    /// The share of the processors.
    Cpu,
}

impl Controller {
    /// All that this program uses.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    /// Its name in files of the kernel.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }
}

/// Names of controllers for a message, such as `memory, pids`.
#[must_use]
pub fn names_of(controllers: &[Controller]) -> String {
    controllers.iter().map(|one| one.name()).collect::<Vec<_>>().join(", ")
}

/// The reason why there is no place for cgroups, for the operator.
#[derive(Debug, thiserror::Error)]
pub enum CgroupUnavailable {
    /// There is no version 2.
    #[error("this system has no cgroups of version 2")]
    NotMounted,
    /// The cgroup is not below any mount.
    #[error("the cgroup of this process is not visible here")]
    Hidden,
    /// The system's own cgroup.
    #[error("this process is in the root cgroup, which belongs to the whole system")]
    Root,
    /// The cgroup takes no cgroups with limits on memory.
    #[error("the cgroup `{}` is of the type `{kind}`", .folder.display())]
    Threaded {
        /// Its folder.
        folder: PathBuf,
        /// Its type.
        kind: String,
    },
    /// Others are in the same cgroup.
    #[error("the cgroup `{}` has {others} processes besides this one", .folder.display())]
    Shared {
        /// Its folder.
        folder: PathBuf,
        /// How many others.
        others: usize,
    },
    /// Others are below the cgroup.
    #[error("the cgroup `{}` has processes of others in `{child}`", .folder.display())]
    Occupied {
        /// Its folder.
        folder: PathBuf,
        /// The name of the cgroup below it.
        child: String,
    },
    /// This user may not change it.
    #[error("this process may not change the cgroup `{}`", .folder.display())]
    ReadOnly {
        /// Its folder.
        folder: PathBuf,
        /// The reason.
        #[source]
        cause: io::Error,
    },
    /// Nothing can be limited there.
    #[error(
        "the cgroup `{}` has none of the controllers memory, pids and cpu", .folder.display()
    )]
    NoControllers {
        /// Its folder.
        folder: PathBuf,
    },
    /// The system refuses an operation.
    #[error("could not {what}")]
    System {
        /// The operation.
        what: &'static str,
        /// The reason.
        #[source]
        cause: io::Error,
    },
}

impl CgroupUnavailable {
    /// What the operator can do.
    #[must_use]
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::NotMounted | Self::NoControllers { .. } => {
                "start the server by a systemd unit with `Delegate=memory pids cpu`, such as \
                 deploy/wardian.service; a system with version 1 switches to version 2 with \
                 `systemd.unified_cgroup_hierarchy=1` on the kernel's command line"
            }
            Self::Hidden => "give the container its own cgroup namespace, mounted writable",
            Self::Root | Self::Threaded { .. } | Self::Shared { .. } | Self::Occupied { .. } => {
                "give the server its own cgroup: a systemd unit with `Delegate=memory pids \
                 cpu`, such as deploy/wardian.service"
            }
            Self::ReadOnly { .. } => {
                "delegate it: `Delegate=memory pids cpu` in the systemd unit, and no \
                 `ProtectControlGroups=yes`; in a container, /sys/fs/cgroup mounted writable"
            }
            Self::System { .. } => "`workers.cgroups = \"off\"` turns them off",
        }
    }
}

/// A cgroup that this server may have its own cgroups in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupPlace {
    pub(super) folder: PathBuf,
    /// True if the server was started in `gateway` below it.
    pub(super) has_gateway: bool,
    /// Those that can be used.
    pub(super) controllers: Vec<Controller>,
    pub(super) process: u32,
}

impl CgroupPlace {
    /// Looks for the place of this process.
    ///
    /// # Errors
    ///
    /// There is none, for this reason.
    pub fn find() -> Result<Self, CgroupUnavailable> {
        Self::find_for(std::process::id(), Path::new("/proc/self"))
    }

    /// As [`find`](Self::find), for a process and its folder in `/proc`.
    fn find_for(process: u32, about: &Path) -> Result<Self, CgroupUnavailable> {
        let own = own_folder(process, about)?;
        let others = others_in(&own, process)?;
        if others > 0 {
            return Err(CgroupUnavailable::Shared { folder: own, others });
        }
        let (folder, has_gateway) = match parent_of_gateway(&own) {
            Some(parent) => (parent, true),
            None => (own, false),
        };
        ensure_domain(&folder)?;
        ensure_no_strangers(&folder, has_gateway)?;
        ensure_writable(&folder)?;
        let text = read(&folder.join("cgroup.controllers"))?;
        let is_there = |one: &Controller| text.split_whitespace().any(|name| name == one.name());
        let controllers: Vec<_> = Controller::ALL.into_iter().filter(is_there).collect();
        if controllers.is_empty() {
            return Err(CgroupUnavailable::NoControllers { folder });
        }
        Ok(Self { folder, has_gateway, controllers, process })
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The controllers that can be used there.
    #[must_use]
    pub fn controllers(&self) -> &[Controller] {
        &self.controllers
    }
}

/// The folder of the process's own cgroup.
fn own_folder(process: u32, about: &Path) -> Result<PathBuf, CgroupUnavailable> {
    let read = |name: &str| {
        let cause = |cause| CgroupUnavailable::System { what: "read files of /proc", cause };
        fs::read(about.join(name)).map_err(cause)
    };
    let path = own_path(&read("cgroup")?).ok_or(CgroupUnavailable::NotMounted)?;
    let mounts = cgroup_mounts(&read("mountinfo")?);
    if mounts.is_empty() {
        return Err(CgroupUnavailable::NotMounted);
    }
    // A folder may be hidden by another mount, so what it says of this process decides.
    let folders = mounts.iter().filter_map(|mount| mount.folder_of(&path));
    let mut own = folders.filter(|folder| members(folder).is_ok_and(|all| all.contains(&process)));
    own.next().ok_or(CgroupUnavailable::Hidden)
}

/// The processes of a cgroup. Those that this process cannot see have the number 0.
pub(super) fn members(folder: &Path) -> Result<Vec<u32>, CgroupUnavailable> {
    let text = read(&folder.join("cgroup.procs"))?;
    Ok(text.split_whitespace().map(|number| number.parse().unwrap_or(0)).collect())
}

/// How many processes besides `process` are in a cgroup.
pub(super) fn others_in(folder: &Path, process: u32) -> Result<usize, CgroupUnavailable> {
    Ok(members(folder)?.into_iter().filter(|member| *member != process).count())
}

/// The cgroup above `own`, if the server was started in a cgroup `gateway` that was made for it.
fn parent_of_gateway(own: &Path) -> Option<PathBuf> {
    let parent = own.parent().filter(|_| own.ends_with(GATEWAY))?;
    let is_empty = members(parent).is_ok_and(|members| members.is_empty());
    (is_empty && ensure_domain(parent).is_ok()).then(|| parent.to_owned())
}

fn ensure_domain(folder: &Path) -> Result<(), CgroupUnavailable> {
    // Every cgroup but the root of all has a type.
    let kind = match fs::read_to_string(folder.join("cgroup.type")) {
        Ok(kind) => kind.trim().to_owned(),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return Err(CgroupUnavailable::Root);
        }
        Err(cause) => {
            return Err(CgroupUnavailable::System { what: "read the type of a cgroup", cause });
        }
    };
    if kind == "domain" {
        return Ok(());
    }
    Err(CgroupUnavailable::Threaded { folder: folder.to_owned(), kind })
}

/// Checks that the cgroups below `folder` are those of this program, or empty.
fn ensure_no_strangers(folder: &Path, has_gateway: bool) -> Result<(), CgroupUnavailable> {
    let listing = |cause| CgroupUnavailable::System { what: "list cgroups", cause };
    for entry in fs::read_dir(folder).map_err(listing)? {
        let entry = entry.map_err(listing)?;
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        // systemd keeps processes for its own control in `.control`.
        let is_known = name.starts_with('.') || is_of_a_process(&name) || name == BACKGROUND;
        let is_own = is_known || name == GATEWAY && has_gateway;
        if !is_own && entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_populated(&path) {
            return Err(CgroupUnavailable::Occupied { folder: folder.to_owned(), child: name });
        }
    }
    Ok(())
}

/// True for the names of cgroups of workers and templates.
pub(super) fn is_of_a_process(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(kind, number)| {
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        KINDS.contains(&kind) && is_number
    })
}

/// True unless the cgroup and all below it are known to be empty.
fn is_populated(folder: &Path) -> bool {
    let events = fs::read_to_string(folder.join("cgroup.events"));
    !events.is_ok_and(|events| events.lines().any(|line| line == "populated 0"))
}

fn ensure_writable(folder: &Path) -> Result<(), CgroupUnavailable> {
    for name in ["", "cgroup.procs", "cgroup.subtree_control"] {
        let path = if name.is_empty() { folder.to_owned() } else { folder.join(name) };
        access(&path, Access::WRITE_OK).map_err(|errno| CgroupUnavailable::ReadOnly {
            folder: folder.to_owned(),
            cause: errno.into(),
        })?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, CgroupUnavailable> {
    let cause = |cause| CgroupUnavailable::System { what: "read files of a cgroup", cause };
    fs::read_to_string(path).map_err(cause)
}

impl fmt::Display for CgroupPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in `{}`", names_of(&self.controllers), self.folder.display())
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
