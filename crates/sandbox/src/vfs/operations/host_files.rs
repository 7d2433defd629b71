//! Files of the workspace that the host lists, writes and removes between two turns, by their paths and
//! without descriptors.
//!
//! INVARIANT(workspace-only): whatever a path or a link says, nothing outside of the workspace is listed,
//! read or changed.

use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use crate::vfs::FileSystem;
use crate::vfs::errno::Errno;
use crate::vfs::limits::MAX_DEPTH;
use crate::vfs::operations::harvest::OpenedFile;
use crate::vfs::operations::open::OpenHow;
use crate::vfs::path::{Last, LastLink, Purpose};
use crate::vfs::tree::node::{FileKind, Folder, Node, NodeIndex, NodeKind, Place, Timestamp};
use crate::vfs::tree::storage::Storage;

/// A file, folder or link of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostFile {
    /// Path below the workspace.
    pub(crate) path: String,
    pub(crate) kind: FileKind,
    /// Length of the content, or of a link's target.
    pub(crate) size: u64,
    pub(crate) modified: Timestamp,
}

/// Some of the files of the workspace, in the order of their paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HostFiles {
    pub(crate) files: Vec<HostFile>,
    /// True if others follow.
    pub(crate) has_more: bool,
    /// Those that were left out because of their long paths, without what lies below them.
    pub(crate) unlisted: u64,
}

/// The bounds of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListBounds {
    /// Most files.
    pub(crate) count: usize,
    /// Longest path of one.
    pub(crate) path: usize,
    /// Bytes of paths after which the list ends.
    pub(crate) paths: usize,
}

/// A folder whose entries are being listed.
struct Listing {
    /// Its path with a slash behind it, or nothing.
    prefix: String,
    folder: NodeIndex,
    /// The last entry that was listed.
    after: Option<Arc<str>>,
}

impl FileSystem {
    /// Lists all that is below a folder of the workspace, each folder before what is in it. Begins behind
    /// the path `after`, which need not exist. Links are not followed.
    ///
    /// # Errors
    ///
    /// `ENOENT`, `ENOTDIR`, and `EROFS` if a link leads out of the workspace.
    pub(crate) fn files_below(
        &self,
        folder: Option<&str>,
        after: Option<&str>,
        bounds: ListBounds,
    ) -> Result<HostFiles, Errno> {
        let root = match folder {
            None => self.workspace,
            Some(path) => self.names.resolve(self.workspace, path, LastLink::Follow)?,
        };
        let root = self.names.writable(root)?;
        self.names.nodes.folder(root)?;
        let prefix = folder.map_or_else(String::new, |path| format!("{path}/"));
        let mut listings = vec![Listing { prefix, folder: root, after: None }];
        self.skip_to(after.unwrap_or_default(), &mut listings);
        let (mut found, mut bytes) = (HostFiles::default(), 0_usize);
        while let Some(listing) = listings.last_mut() {
            let entries = &self.names.nodes.folder(listing.folder)?.entries;
            let behind = listing.after.as_deref().map_or(Unbounded, Excluded);
            let Some((name, entry)) = entries.range::<str, _>((behind, Unbounded)).next() else {
                listings.pop();
                continue;
            };
            let is_shown = self.is_shown(listing.folder, name, entry.place);
            let path = format!("{}{name}", listing.prefix);
            if is_shown && (found.files.len() >= bounds.count || bytes >= bounds.paths) {
                found.has_more = true;
                break;
            }
            listing.after = Some(Arc::clone(name));
            let Place::Own(index) = entry.place else { continue };
            let node = self.names.nodes.find(index)?;
            if !is_shown {
                continue;
            }
            if path.len() > bounds.path {
                found.unlisted = found.unlisted.saturating_add(1);
                continue;
            }
            if node.file_kind() == FileKind::Folder {
                listings.push(Listing { prefix: format!("{path}/"), folder: index, after: None });
            }
            bytes = bytes.saturating_add(path.len());
            found.files.push(found_file(path, node));
        }
        Ok(found)
    }

    /// Lets a list go on behind a path.
    fn skip_to(&self, after: &str, listings: &mut Vec<Listing>) {
        let Some(first) = listings.last() else { return };
        let Some(rest) = after.strip_prefix(first.prefix.as_str()) else { return };
        for name in rest.split('/').filter(|name| !name.is_empty()) {
            let Some(listing) = listings.last_mut() else { return };
            listing.after = Some(Arc::from(name));
            let prefix = format!("{}{name}/", listing.prefix);
            let child = self.names.child(Place::Own(listing.folder), name);
            match child {
                Ok(Some(Place::Own(index))) if self.names.nodes.folder(index).is_ok() => {
                    listings.push(Listing { prefix, folder: index, after: None });
                }
                _ => return,
            }
        }
    }

    /// True for an entry that programs see in listings too.
    fn is_shown(&self, folder: NodeIndex, name: &str, place: Place) -> bool {
        self.is_unlisted(folder, name, place).is_ok_and(|is_unlisted| !is_unlisted)
            && matches!(place, Place::Own(_))
    }

    /// Opens a regular file of the workspace, and tells when it was changed.
    ///
    /// # Errors
    ///
    /// `EISDIR` for folders, `EROFS` for what lies outside of the workspace, and the errors of resolving a
    /// path.
    pub(crate) fn open_own(&self, path: &str) -> Result<(OpenedFile<'_>, Timestamp), Errno> {
        let place = self.names.resolve(self.workspace, path, LastLink::Follow)?;
        let index = self.names.writable(place)?;
        let modified = self.names.nodes.find(index)?.times.modified;
        Ok((self.open_file(path, u64::MAX)?, modified))
    }

    /// Refuses a file that cannot be put with so many bytes, as far as that is seen before anything is
    /// changed: only the rest of what the workspace has room for is not.
    ///
    /// # Errors
    ///
    /// As [`put_file`](Self::put_file), and `ENOENT` if a link leads to nothing.
    pub(crate) fn check_put(&self, path: &str, bytes: usize) -> Result<(), Errno> {
        let names = &self.names;
        for (end, _) in path.match_indices('/') {
            let (before, rest) = path.split_at_checked(end).ok_or(Errno::NotFound)?;
            let walked = names.walk(self.workspace, before, Purpose::Find(LastLink::Follow))?;
            if let Some(place) = walked.found {
                names.writable(place)?;
                if names.kind(place)? != FileKind::Folder {
                    return Err(Errno::NotFolder);
                }
                continue;
            }
            let Last::Name(_) = &walked.last else { return Err(Errno::NotFound) };
            names.writable(walked.folder)?;
            let made = rest.matches('/').count();
            if names.depth(walked.folder)?.saturating_add(made) > MAX_DEPTH {
                return Err(Errno::NameTooLong);
            }
            return self.check_room(bytes, 0);
        }
        let walked = names.walk(self.workspace, path, Purpose::Create)?;
        match (walked.found, &walked.last) {
            (Some(place), _) => {
                let node = names.nodes.find(names.writable(place)?)?;
                match node.file_kind() {
                    FileKind::File => self.check_room(bytes, node.charged()),
                    _ => Err(Errno::IsFolder),
                }
            }
            (None, Last::Name(_)) => {
                names.writable(walked.folder)?;
                self.check_room(bytes, 0)
            }
            (None, _) => Err(Errno::NotFound),
        }
    }

    /// Refuses bytes for which there is no room, not even after so many that are charged are released.
    fn check_room(&self, bytes: usize, released: u64) -> Result<(), Errno> {
        let room = self.free_bytes().saturating_add(released);
        if u64::try_from(bytes).is_ok_and(|bytes| bytes <= room) {
            Ok(())
        } else {
            Err(Errno::NoSpace)
        }
    }

    /// True if a link on this path leads to nothing.
    pub(crate) fn leads_to_nothing(&self, path: &str) -> bool {
        let names = &self.names;
        let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
        ends.filter_map(|end| path.get(..end)).any(|part| {
            let place = names.resolve(self.workspace, part, LastLink::Keep);
            let is_link = place.and_then(|place| names.kind(place)) == Ok(FileKind::Link);
            let leads_to = names.resolve(self.workspace, part, LastLink::Follow);
            is_link && leads_to == Err(Errno::NotFound)
        })
    }

    /// Gives a file of the workspace this content, and makes the folders that lead to it. Returns true if
    /// there was a file before, which keeps its other names.
    ///
    /// A part of it may be done after an error, unless [`check_put`](Self::check_put) has the same one.
    ///
    /// # Errors
    ///
    /// `ENOSPC`, `EISDIR`, `ENOTDIR`, `ENAMETOOLONG`, and `EROFS` if a link leads out of the workspace.
    pub(crate) fn put_file(
        &mut self,
        path: &str,
        content: &[u8],
        now: Timestamp,
    ) -> Result<bool, Errno> {
        for (end, _) in path.match_indices('/') {
            self.ensure_folder(path.get(..end).unwrap_or_default(), now)?;
        }
        let walked = self.names.walk(self.workspace, path, Purpose::Create)?;
        let (index, replaced) = match (walked.found, &walked.last) {
            (Some(place), _) => (self.names.writable(place)?, true),
            (None, Last::Name(name)) => {
                let file = NodeKind::File(Storage::default());
                (self.add_node(walked.folder, name, file, now)?, false)
            }
            (None, _) => return Err(Errno::NotFound),
        };
        if self.names.nodes.find(index)?.file_kind() != FileKind::File {
            return Err(Errno::IsFolder);
        }
        self.make_own(index, OpenHow::REPLACE)?;
        let (nodes, quota) = self.nodes_and_quota();
        let storage = nodes.storage_mut(index)?;
        storage.set_size(0, quota)?;
        if !content.is_empty() && storage.write_at(0, content, quota)? < content.len() {
            return Err(Errno::NoSpace);
        }
        nodes.touch(index, now)?;
        Ok(replaced)
    }

    /// Makes a folder of the workspace, if there is none.
    fn ensure_folder(&mut self, path: &str, now: Timestamp) -> Result<(), Errno> {
        let walked = self.names.walk(self.workspace, path, Purpose::Find(LastLink::Follow))?;
        if let Some(place) = walked.found {
            self.names.writable(place)?;
            return match self.names.kind(place)? {
                FileKind::Folder => Ok(()),
                _ => Err(Errno::NotFolder),
            };
        }
        let Last::Name(name) = &walked.last else { return Err(Errno::NotFound) };
        let parent = self.names.writable(walked.folder)?;
        if self.names.depth(walked.folder)? >= MAX_DEPTH {
            return Err(Errno::NameTooLong);
        }
        let folder = NodeKind::Folder(Folder::new(Place::Own(parent)));
        self.add_node(walked.folder, name, folder, now).map(|_| ())
    }

    /// Removes a file, a link or an empty folder of the workspace. Links are not followed at the end.
    ///
    /// # Errors
    ///
    /// `ENOENT`, `ENOTEMPTY`, `EROFS` if a link leads out of the workspace, and the errors of resolving a
    /// path.
    pub(crate) fn remove_own(&mut self, path: &str, now: Timestamp) -> Result<(), Errno> {
        let walked = self.names.walk(self.workspace, path, Purpose::Name)?;
        let Last::Name(name) = &walked.last else { return Err(Errno::NotFound) };
        let folder = self.names.writable(walked.folder)?;
        let place = walked.found.ok_or(Errno::NotFound)?;
        if self.names.kind(place)? == FileKind::Folder {
            self.names.ensure_empty_folder(place)?;
        }
        self.remove_entry(folder, name, now)
    }
}

fn found_file(path: String, node: &Node) -> HostFile {
    let size = match &node.kind {
        NodeKind::Link(target) => u64::try_from(target.len()).unwrap_or(u64::MAX),
        kind => kind.size(),
    };
    HostFile { path, kind: node.file_kind(), size, modified: node.times.modified }
}
