//! Listing folders.
//!
//! Entries are sorted by name. A listing continues after the *name* that it had reached, so entries
//! that are made or removed meanwhile neither hide others nor show them twice, and the cost of a
//! step does not depend on the size of the folder.

use std::ops::Bound::{Excluded, Unbounded};
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::vfs::FileSystem;
use crate::vfs::descriptor::{Descriptor, Fd};
use crate::vfs::errno::Errno;
use crate::vfs::file_system::WORKSPACE;
use crate::vfs::tree::node::{FIRST_COOKIE, FileKind, Folder, MountedAs, NodeKind, Place};

/// One entry of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedEntry<'a> {
    /// Its name; the first two are `.` and `..`.
    pub name: &'a str,
    /// Number of the file.
    pub inode: u64,
    /// Its kind.
    pub kind: FileKind,
    /// The cookie to continue a listing after this entry.
    pub(crate) next_cookie: u64,
}

/// Cookie of `.`
const DOT_COOKIE: u64 = 1;

/// Cookie of `..`
const DOT_DOT_COOKIE: u64 = 2;

impl FileSystem {
    /// Calls `visit` with the entries of an open folder after `cookie` (0: from the start). `visit`
    /// returns `Break` for an entry that it could not take.
    ///
    /// A listing can continue from the cookie of the last visited entry even if that entry is gone,
    /// and from older cookies as long as their entries exist. The cookie of any other removed entry
    /// starts the listing again. A cookie that was never used gives no entries.
    ///
    /// # Errors
    ///
    /// `EBADF`, `ENOTDIR`.
    pub fn list(
        &mut self,
        fd: Fd,
        cookie: u64,
        mut visit: impl FnMut(ListedEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), Errno> {
        let place = self.descriptors.folder(fd)?.place;
        let parent = self.names.parent(place)?;
        for (name, own_cookie, shown) in [(".", DOT_COOKIE, place), ("..", DOT_DOT_COOKIE, parent)]
        {
            if cookie < own_cookie {
                let (inode, kind) = self.inode_and_kind(shown)?;
                let entry = ListedEntry { name, inode, kind, next_cookie: own_cookie };
                if visit(entry).is_break() {
                    return Ok(());
                }
            }
        }
        match place {
            Place::Own(index) => {
                let last = self.list_own(fd, index, cookie, &mut visit)?;
                if let (Some(last), Descriptor::Folder(open)) =
                    (last, self.descriptors.find_mut(fd)?)
                {
                    open.listed = Some(last);
                }
                Ok(())
            }
            Place::Mounted { tree, node } => self.list_mounted(tree, node, cookie, &mut visit),
        }
    }

    /// Visits the named entries of a folder of the run. Returns the last one.
    fn list_own(
        &self,
        fd: Fd,
        index: u32,
        cookie: u64,
        visit: &mut impl FnMut(ListedEntry<'_>) -> ControlFlow<()>,
    ) -> Result<Option<(u64, Arc<str>)>, Errno> {
        let folder = self.names.nodes.folder(index)?;
        if cookie >= folder.next_cookie() {
            return Ok(None);
        }
        let listed = self.descriptors.folder(fd)?.listed.as_ref();
        let after = name_of_cookie(folder, listed, cookie);
        let start = after.as_deref().map_or(Unbounded, Excluded);
        let mut last = None;
        for (name, entry) in folder.entries.range::<str, _>((start, Unbounded)) {
            if self.is_unlisted(index, name, entry.place)? {
                continue;
            }
            let (inode, kind) = self.inode_and_kind(entry.place)?;
            let shown = ListedEntry { name, inode, kind, next_cookie: entry.cookie };
            if visit(shown).is_break() {
                break;
            }
            last = Some((entry.cookie, name));
        }
        Ok(last.map(|(cookie, name)| (cookie, Arc::clone(name))))
    }

    /// True for an entry of a folder that is a further name of a blob.
    pub(super) fn is_unlisted(&self, folder: u32, name: &str, place: Place) -> Result<bool, Errno> {
        match place {
            Place::Own(file) if self.workspace == Place::Own(folder) => {
                let kind = &self.names.nodes.find(file)?.kind;
                Ok(matches!(kind, NodeKind::Mounted { name: MountedAs::Unlisted, .. })
                    && kind.is_unlisted(&format!("{WORKSPACE}/{name}")))
            }
            _ => Ok(false),
        }
    }

    /// Visits the named entries of a mounted folder, whose cookies are consecutive.
    fn list_mounted(
        &self,
        tree: u32,
        node: u32,
        cookie: u64,
        visit: &mut impl FnMut(ListedEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), Errno> {
        let mounted = &self.names.tree(tree)?.tree;
        let entries = mounted.entries(node).ok_or(Errno::NotFolder)?;
        let first = cookie.saturating_sub(DOT_DOT_COOKIE);
        let rest = usize::try_from(first).ok().and_then(|first| entries.get(first..));
        let Some(rest) = rest else { return Ok(()) };
        for (next_cookie, (name, node)) in (FIRST_COOKIE.saturating_add(first)..).zip(rest) {
            let (inode, kind) = self.inode_and_kind(Place::Mounted { tree, node: *node })?;
            if visit(ListedEntry { name, inode, kind, next_cookie }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The name after which a listing continues.
fn name_of_cookie(
    folder: &Folder,
    listed: Option<&(u64, Arc<str>)>,
    cookie: u64,
) -> Option<Arc<str>> {
    if cookie < FIRST_COOKIE {
        return None;
    }
    if let Some((last, name)) = listed
        && *last == cookie
    {
        return Some(Arc::clone(name));
    }
    let found = folder.entries.iter().find(|(_, entry)| entry.cookie == cookie);
    found.map(|(name, _)| Arc::clone(name))
}
