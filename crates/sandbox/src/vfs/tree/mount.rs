//! Mounts the host's read-only content at the paths of the guest.

use std::fmt;
use std::sync::Arc;

use crate::vfs::errno::Errno;
use crate::vfs::limits::{MAX_DEPTH, MAX_PATH};
use crate::vfs::path::{MountedTree, Names, ROOT};
use crate::vfs::tree::content::Content;
use crate::vfs::tree::devices::DEVICES;
use crate::vfs::tree::immutable::{ImmutableTree, is_plain_name};
use crate::vfs::tree::node::{
    FileKind, Folder, MOUNT_TIME, MountedAs, NodeKind, Place, Region, Timestamp, TreeIndex,
};

/// The reason why something cannot be mounted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MountError {
    /// A path that is not absolute, or has invalid segments.
    #[error("`{0}` is not an absolute path of plain names")]
    Path(String),
    /// The path exists already, or leads into the workspace or another mount.
    #[error("`{0}` is taken")]
    Taken(String),
    /// More mounts than can be numbered.
    #[error("there are too many mounts")]
    TooMany,
}

/// Read-only content and the path under which a guest sees it.
///
/// Cheap to clone: the content is shared.
#[derive(Clone)]
pub struct Mount {
    path: Arc<str>,
    what: What,
}

#[derive(Clone)]
enum What {
    File(Arc<dyn Content>),
    Tree(Arc<ImmutableTree>),
}

impl Mount {
    /// A single file at an absolute path, such as `/blobs/blob:…`.
    #[must_use]
    pub fn file(path: impl Into<Arc<str>>, content: Arc<dyn Content>) -> Self {
        Self { path: path.into(), what: What::File(content) }
    }

    /// A folder at an absolute path, such as `/skills/acme.report`.
    ///
    /// The path may lead through a mounted file. Such a tree is not an entry of any folder: it is a
    /// preopened folder of its own, which guests find because the C library picks the preopened
    /// folder with the longest matching path.
    #[must_use]
    pub fn tree(path: impl Into<Arc<str>>, tree: Arc<ImmutableTree>) -> Self {
        Self { path: path.into(), what: What::Tree(tree) }
    }

    /// The path of the mount.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.what {
            What::File(_) => "file",
            What::Tree(_) => "tree",
        };
        f.debug_struct("Mount").field("path", &self.path).field("what", &what).finish()
    }
}

/// Folders that every run has, even if nothing is mounted in them.
const FIXED_FOLDERS: [&str; 2] = ["skills", "blobs"];

/// The names of the workspace in the root folder.
const WORKSPACE_NAMES: [&str; 2] = ["workspace", "tmp"];

impl Names {
    /// The root, its fixed folders and an empty workspace. Returns the place of the workspace.
    pub(crate) fn with_workspace(now: Timestamp) -> Result<(Self, Place), Errno> {
        let mut names = Self::default();
        let root = NodeKind::Folder(Folder::new(ROOT));
        let root = names.nodes.add(root, Region::ReadOnly, MOUNT_TIME)?;
        names.nodes.add_link(root, MOUNT_TIME)?;
        for name in FIXED_FOLDERS {
            names.add_folder(ROOT, name)?;
        }
        let devices = MountedTree { tree: Arc::clone(&DEVICES), parent: ROOT, path: "/dev".into() };
        names.trees.push(devices);
        names.add_entry(ROOT, "dev", Place::Mounted { tree: 0, node: 0 })?;
        let workspace = NodeKind::Folder(Folder::new(ROOT));
        let workspace = names.nodes.add(workspace, Region::Workspace, now)?;
        for name in WORKSPACE_NAMES {
            names.nodes.add_link(workspace, now)?;
            names.add_entry(ROOT, name, Place::Own(workspace))?;
        }
        Ok((names, Place::Own(workspace)))
    }

    /// Adds a mount. Returns its tree if that is reachable by its full path only.
    pub(crate) fn mount(&mut self, mount: &Mount) -> Result<Option<TreeIndex>, MountError> {
        let path = || mount.path.to_string();
        let relative = mount.path.strip_prefix('/').ok_or_else(|| MountError::Path(path()))?;
        let depth = relative.split('/').count();
        if !relative.split('/').all(is_plain_name)
            || depth > MAX_DEPTH
            || mount.path.len() >= MAX_PATH
        {
            return Err(MountError::Path(path()));
        }
        let taken = |_: Errno| MountError::Taken(path());
        let (folders, name) = relative.rsplit_once('/').unwrap_or(("", relative));
        let mut folder = ROOT;
        for segment in folders.split('/').filter(|segment| !segment.is_empty()) {
            folder = match self.child(folder, segment).map_err(taken)? {
                None => self.add_folder(folder, segment).map_err(taken)?,
                Some(place) if self.kind(place) == Ok(FileKind::File) => {
                    return self.detach(mount).map(Some);
                }
                Some(place) => place,
            };
            self.ensure_fixed(folder).map_err(taken)?;
        }
        self.ensure_fixed(folder).map_err(taken)?;
        if self.child(folder, name).map_err(taken)?.is_some() {
            return Err(MountError::Taken(path()));
        }
        let place = match &mount.what {
            What::File(content) => {
                let (content, path) = (Arc::clone(content), Arc::clone(&mount.path));
                let kind = NodeKind::Mounted { content, path, name: MountedAs::Listed };
                let file = self.nodes.add(kind, Region::ReadOnly, MOUNT_TIME).map_err(taken)?;
                self.nodes.add_link(file, MOUNT_TIME).map_err(taken)?;
                Place::Own(file)
            }
            What::Tree(tree) => {
                let tree = self.add_tree(tree, folder, &mount.path)?;
                Place::Mounted { tree, node: 0 }
            }
        };
        self.add_entry(folder, name, place).map_err(taken)?;
        Ok(None)
    }

    /// Mounts a tree whose path leads through a file.
    fn detach(&mut self, mount: &Mount) -> Result<TreeIndex, MountError> {
        let What::Tree(tree) = &mount.what else {
            return Err(MountError::Taken(mount.path.to_string()));
        };
        if self.trees.iter().any(|mounted| *mounted.path == *mount.path) {
            return Err(MountError::Taken(mount.path.to_string()));
        }
        let itself = TreeIndex::try_from(self.trees.len()).ok().ok_or(MountError::TooMany)?;
        self.add_tree(tree, Place::Mounted { tree: itself, node: 0 }, &mount.path)?;
        self.detached.push(itself);
        Ok(itself)
    }

    fn add_tree(
        &mut self,
        tree: &Arc<ImmutableTree>,
        parent: Place,
        path: &str,
    ) -> Result<TreeIndex, MountError> {
        let index = TreeIndex::try_from(self.trees.len()).ok().ok_or(MountError::TooMany)?;
        self.trees.push(MountedTree { tree: Arc::clone(tree), parent, path: path.into() });
        Ok(index)
    }

    /// Adds a folder that guests cannot change.
    fn add_folder(&mut self, parent: Place, name: &str) -> Result<Place, Errno> {
        let folder = NodeKind::Folder(Folder::new(parent));
        let folder = self.nodes.add(folder, Region::ReadOnly, MOUNT_TIME)?;
        self.nodes.add_link(folder, MOUNT_TIME)?;
        self.add_entry(parent, name, Place::Own(folder))?;
        Ok(Place::Own(folder))
    }

    fn add_entry(&mut self, folder: Place, name: &str, place: Place) -> Result<(), Errno> {
        let Place::Own(folder) = folder else { return Err(Errno::ReadOnly) };
        self.nodes.folder_mut(folder)?.insert(name, place);
        Ok(())
    }

    /// Refuses folders that belong to guests or to another mount.
    fn ensure_fixed(&self, folder: Place) -> Result<(), Errno> {
        match folder {
            Place::Own(index) if self.nodes.find(index)?.region == Region::ReadOnly => Ok(()),
            _ => Err(Errno::Exists),
        }
    }
}
