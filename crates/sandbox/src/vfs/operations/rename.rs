//! Moving names within the workspace.

use crate::vfs::errno::Errno;
use crate::vfs::limits::MAX_DEPTH;
use crate::vfs::path::{Last, Names, ROOT, Walked};
use crate::vfs::tree::node::{FileKind, NodeIndex, NodeKind, Place, Timestamp};
use crate::vfs::{At, FileSystem};

/// A move of a name within the workspace.
struct Move<'p> {
    node: NodeIndex,
    old_folder: NodeIndex,
    old_name: &'p str,
    new_folder: NodeIndex,
    new_name: &'p str,
    /// The node that has the new name now.
    replaced: Option<NodeIndex>,
}

impl FileSystem {
    /// Renames `from` to `to`, and replaces an existing `to`.
    ///
    /// # Errors
    ///
    /// As `renameat` on Linux: `EROFS` outside of the workspace, `EXDEV` across its border.
    pub fn rename(&mut self, from: At<'_>, to: At<'_>, now: Timestamp) -> Result<(), Errno> {
        let old = self.walk_name(from)?;
        let new = self.walk_name(to)?;
        let folders = (self.names.writable(old.folder), self.names.writable(new.folder));
        let (old_folder, new_folder) = match folders {
            (Ok(old_folder), Ok(new_folder)) => (old_folder, new_folder),
            (Err(_), Err(errno)) => return Err(errno),
            _ => return Err(Errno::CrossDevice),
        };
        let (Last::Name(old_name), Last::Name(new_name)) = (&old.last, &new.last) else {
            return Err(Errno::Busy);
        };
        let Some(Place::Own(node)) = old.found else { return Err(Errno::NotFound) };
        let replaced = match new.found {
            Some(Place::Own(replaced)) => Some(replaced),
            Some(Place::Mounted { .. }) => return Err(Errno::Busy),
            None => None,
        };
        self.names.ensure_can_move(node, &old, &new)?;
        if replaced == Some(node) {
            return Ok(());
        }
        let moving = Move { node, old_folder, old_name, new_folder, new_name, replaced };
        self.names.ensure_can_replace(&moving)?;
        self.move_name(&moving, now)
    }

    fn move_name(&mut self, moving: &Move<'_>, now: Timestamp) -> Result<(), Errno> {
        if moving.replaced.is_some() {
            self.quota.release_entry(moving.old_name);
        } else {
            self.quota.rename_entry(moving.old_name, moving.new_name)?;
        }
        let nodes = &mut self.names.nodes;
        let place = Place::Own(moving.node);
        nodes.folder_mut(moving.old_folder)?.entries.remove(moving.old_name);
        nodes.folder_mut(moving.new_folder)?.insert(moving.new_name, place);
        nodes.rename(moving.node, now)?;
        if let NodeKind::Folder(folder) = &mut nodes.find_mut(moving.node)?.kind {
            folder.parent = Place::Own(moving.new_folder);
        }
        if let Some(replaced) = moving.replaced {
            nodes.drop_link(replaced, &mut self.quota, now)?;
        }
        nodes.touch(moving.old_folder, now)?;
        nodes.touch(moving.new_folder, now)
    }
}

impl Names {
    /// Refuses slashes after files, and moving a folder into itself.
    fn ensure_can_move(
        &self,
        node: NodeIndex,
        old: &Walked<'_>,
        new: &Walked<'_>,
    ) -> Result<(), Errno> {
        let is_folder = self.kind(Place::Own(node))? == FileKind::Folder;
        if !is_folder && (old.wants_folder || new.wants_folder) {
            return Err(Errno::NotFolder);
        }
        if is_folder && self.is_within(new.folder, Place::Own(node))? {
            return Err(Errno::Invalid);
        }
        if let Some(target) = new.found
            && old.folder != new.folder
            && self.is_within(old.folder, target)?
        {
            return Err(Errno::NotEmpty);
        }
        Ok(())
    }

    /// Refuses to replace a folder that has entries, or one kind by the other.
    fn ensure_can_replace(&self, moving: &Move<'_>) -> Result<(), Errno> {
        let is_folder = self.kind(Place::Own(moving.node))? == FileKind::Folder;
        match moving.replaced.map(Place::Own) {
            None => self.ensure_linked(moving.new_folder)?,
            Some(target) if is_folder => self.ensure_empty_folder(target)?,
            Some(target) if self.kind(target)? == FileKind::Folder => {
                return Err(Errno::IsFolder);
            }
            Some(_) => {}
        }
        if is_folder && moving.old_folder != moving.new_folder {
            let above = self.depth(Place::Own(moving.new_folder))?;
            if above.saturating_add(self.height(moving.node)) > MAX_DEPTH {
                return Err(Errno::NameTooLong);
            }
        }
        Ok(())
    }

    /// True if `place` is `folder` or lies below it.
    fn is_within(&self, place: Place, folder: Place) -> Result<bool, Errno> {
        let mut current = place;
        for _ in 0..=MAX_DEPTH {
            if current == folder {
                return Ok(true);
            }
            if current == ROOT {
                break;
            }
            current = self.parent(current)?;
        }
        Ok(false)
    }

    /// Folders within one another from `folder` downwards, itself included.
    fn height(&self, folder: NodeIndex) -> usize {
        let mut level = vec![folder];
        let mut height = 0_usize;
        while !level.is_empty() {
            height = height.saturating_add(1);
            let folders = level.iter().filter_map(|&folder| self.nodes.folder(folder).ok());
            let entries = folders.flat_map(|folder| folder.entries.values());
            let below = entries.filter_map(|entry| match entry.place {
                Place::Own(child) if self.nodes.folder(child).is_ok() => Some(child),
                _ => None,
            });
            level = below.collect();
        }
        height
    }
}
