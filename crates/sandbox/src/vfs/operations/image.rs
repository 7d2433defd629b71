//! Open files of a memory image: the files that were open when the image was made are open again in
//! each run that begins as it.

use serde::{Deserialize, Serialize};

use crate::vfs::FileSystem;
use crate::vfs::descriptor::{Access, Descriptor, Fd, Offset, OpenFile, OpenFolder, Source};
use crate::vfs::errno::Errno;
use crate::vfs::path::{LastLink, ROOT};
use crate::vfs::tree::node::{FileKind, NodeKind, Place};

/// A descriptor that belongs to a memory image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenDescriptor {
    /// Its number.
    pub fd: Fd,
    /// Absolute path of its file.
    pub path: String,
    /// Its position.
    pub offset: u64,
}

/// All descriptors that belong to a memory image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageDescriptors {
    /// In the order of their numbers.
    pub open: Vec<OpenDescriptor>,
}

/// A descriptor is open that cannot be part of an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("descriptor {fd} is open on {what}, which is not the same in every run")]
pub(crate) struct NotCarried {
    /// Its number.
    pub fd: Fd,
    /// The sort of file that it is open on.
    pub what: &'static str,
}

impl FileSystem {
    /// The open files beyond the descriptors that every run starts with.
    ///
    /// # Errors
    ///
    /// A file is open that is not part of a mount.
    pub(crate) fn image_descriptors(&self) -> Result<ImageDescriptors, NotCarried> {
        let mut open = Vec::new();
        for (fd, descriptor) in self.descriptors.iter() {
            let (place, offset) = match descriptor {
                Descriptor::Input | Descriptor::Output(_) => continue,
                Descriptor::Folder(folder) if folder.preopened.is_some() => continue,
                Descriptor::Folder(folder) => (folder.place, 0),
                Descriptor::File(OpenFile {
                    source: Source::Mounted(_, place), offset, ..
                }) => (*place, offset.get()),
                Descriptor::Device(_) => return Err(NotCarried { fd, what: "a device" }),
                Descriptor::File(_) => {
                    return Err(NotCarried { fd, what: "a file in the workspace" });
                }
            };
            let path = self.mounted_path(place);
            let path = path.ok_or(NotCarried { fd, what: "a folder outside of the mounts" })?;
            open.push(OpenDescriptor { fd, path, offset });
        }
        Ok(ImageDescriptors { open })
    }

    /// Opens the files of an image, each under its number. These descriptors do not count towards
    /// the limit of open files.
    ///
    /// # Errors
    ///
    /// A path is missing or a number is taken: the image does not fit these mounts.
    pub(crate) fn restore_descriptors(&mut self, image: &ImageDescriptors) -> Result<(), Errno> {
        for OpenDescriptor { fd, path, offset } in &image.open {
            let place = self.names.resolve(ROOT, path, LastLink::Keep)?;
            let descriptor = match self.names.kind(place)? {
                FileKind::Folder => {
                    Descriptor::Folder(OpenFolder { place, preopened: None, listed: None })
                }
                _ => Descriptor::File(OpenFile {
                    source: self.source(place)?,
                    offset: Offset::at(*offset),
                    access: Access { read: true, write: false },
                    appends: false,
                }),
            };
            self.descriptors.allow_one_more();
            self.descriptors.set(*fd, descriptor)?;
            if let Place::Own(index) = place {
                self.names.nodes.add_open(index)?;
            }
        }
        Ok(())
    }

    /// Absolute path of something that was mounted.
    fn mounted_path(&self, place: Place) -> Option<String> {
        match place {
            Place::Own(index) => match &self.names.nodes.find(index).ok()?.kind {
                NodeKind::Mounted { path, .. } => Some(path.to_string()),
                _ => None,
            },
            Place::Mounted { tree, node } => {
                let mounted = self.names.tree(tree).ok()?;
                let below = mounted.tree.path_of(node);
                let slash = if below.is_empty() { "" } else { "/" };
                Some(format!("{}{slash}{below}", mounted.path))
            }
        }
    }
}
