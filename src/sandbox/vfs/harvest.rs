//! Files that the host reads on behalf of the guest, by the paths that the guest knows.

use crate::sandbox::vfs::FileSystem;
use crate::sandbox::vfs::content::SharedBytes;
use crate::sandbox::vfs::errno::Errno;
use crate::sandbox::vfs::node::{FileKind, NodeKind, Place};
use crate::sandbox::vfs::path::LastLink;

impl FileSystem {
    /// The content of a regular file, found as the guest would find it; relative paths start in
    /// the workspace. Nothing is copied if the file is a mount that lies in memory.
    ///
    /// # Errors
    ///
    /// `EISDIR` for folders, `EFBIG` for files of more than `max` bytes, and whatever a guest
    /// would see.
    pub fn read_file(&self, path: &str, max: u64) -> Result<SharedBytes, Errno> {
        let place = self.names.resolve(self.workspace, path, LastLink::Follow)?;
        if self.names.kind(place)? == FileKind::Folder {
            return Err(Errno::IsFolder);
        }
        if let Place::Own(index) = place
            && let NodeKind::File(storage) = &self.names.nodes.find(index)?.kind
        {
            return storage.to_vec(max).map(SharedBytes::new);
        }
        let content = self.mounted_content(place)?.ok_or(Errno::Invalid)?;
        if content.size() > max {
            return Err(Errno::FileTooBig);
        }
        if let Some(shared) = content.shared() {
            return Ok(shared);
        }
        let size = usize::try_from(content.size()).ok().ok_or(Errno::FileTooBig)?;
        let mut bytes = vec![0; size];
        let read = content.read_at(0, &mut bytes).ok().ok_or(Errno::InputOutput)?;
        bytes.truncate(read);
        Ok(SharedBytes::new(bytes))
    }
}
