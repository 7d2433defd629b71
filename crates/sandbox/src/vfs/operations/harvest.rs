//! Files that the host reads on behalf of the guest, by the guest's paths.

use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use crate::vfs::FileSystem;
use crate::vfs::descriptor::Descriptor;
use crate::vfs::errno::Errno;
use crate::vfs::file_system::WORKSPACE;
use crate::vfs::limits::MAX_DEPTH;
use crate::vfs::path::LastLink;
use crate::vfs::tree::content::{Content, SharedBytes};
use crate::vfs::tree::node::{FileKind, NodeKind, Place};

/// A regular file of the workspace.
#[derive(Debug)]
pub(crate) struct WorkspaceFile {
    /// Path below the workspace.
    pub path: String,
    /// Length of the content.
    pub size: u64,
}

/// The files of the workspace that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harvest {
    /// All that the guest has made or changed.
    All,
    /// Those that got their path or their content since the turn began.
    OfTurn,
}

/// A file that the host reads from its start to its end, piece by piece.
pub(crate) struct OpenedFile<'a> {
    /// Length of the content.
    pub size: u64,
    /// The content. It is read directly from memory, or through a small buffer.
    pub bytes: Box<dyn BufRead + 'a>,
}

/// Prints the length only: the bytes may belong to a tenant.
impl fmt::Debug for OpenedFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedFile").field("size", &self.size).finish_non_exhaustive()
    }
}

/// Bytes of a mount that are read at one time.
const BUFFER: usize = 1 << 20;

/// A mount that is read from its start.
struct MountReader<'a> {
    content: &'a dyn Content,
    position: u64,
}

impl Read for MountReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read_at(self.position, into)?;
        self.position = self.position.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }
}

impl FileSystem {
    /// Marks the beginning of a turn, which [`Harvest::OfTurn`] refers to.
    pub(crate) const fn begin_turn(&mut self) {
        self.names.nodes.begin_turn();
    }

    /// The regular files in the workspace that the guest has made or changed, whose paths have at most
    /// `max_path` bytes, sorted by path within each folder, and the number of all of them. Links are
    /// not followed.
    #[must_use]
    pub(crate) fn workspace_files(
        &self,
        max_path: usize,
        harvest: Harvest,
    ) -> (Vec<WorkspaceFile>, u64) {
        let (mut files, mut total) = (Vec::new(), 0_u64);
        let Place::Own(root) = self.workspace else { return (files, total) };
        let mut pending = vec![(String::new(), root, 0_usize, harvest == Harvest::All)];
        while let Some((prefix, index, depth, is_all)) = pending.pop() {
            let Ok(folder) = self.names.nodes.folder(index) else { continue };
            let mut below = Vec::new();
            for (name, entry) in &folder.entries {
                let Place::Own(index) = entry.place else { continue };
                let Ok(node) = self.names.nodes.find(index) else { continue };
                // What lies in a folder with a new name has a new path.
                let is_wanted = is_all || self.names.nodes.is_of_turn(node);
                // A path that is too long is not built: nothing below it is listed.
                let is_short = prefix.len().saturating_add(name.len()) <= max_path;
                let path = is_short.then(|| format!("{prefix}{name}"));
                match (&node.kind, path) {
                    (NodeKind::File(_) | NodeKind::Mounted { .. }, _) if !is_wanted => {}
                    (kind @ (NodeKind::File(_) | NodeKind::Mounted { .. }), path) => {
                        let below = path.as_deref();
                        let is_still =
                            below.is_some_and(|path| kind.is_still(&format!("{WORKSPACE}/{path}")));
                        total = total.saturating_add(u64::from(!is_still));
                        let path = path.filter(|_| !is_still);
                        let size = kind.size();
                        files.extend(path.map(|path| WorkspaceFile { path, size }));
                    }
                    (NodeKind::Folder(_), path) if depth < MAX_DEPTH => {
                        let too_long = || "/".repeat(max_path.saturating_add(1));
                        let prefix = path.map_or_else(too_long, |path| format!("{path}/"));
                        below.push((prefix, index, depth.saturating_add(1), is_wanted));
                    }
                    _ => {}
                }
            }
            pending.extend(below.into_iter().rev());
        }
        (files, total)
    }

    /// True if a file is open for writing. The program may hold unwritten data for it in a buffer.
    #[must_use]
    pub(crate) fn has_open_writers(&self) -> bool {
        self.descriptors.iter().any(
            |(_, descriptor)| matches!(descriptor, Descriptor::File(file) if file.access.write),
        )
    }

    /// Opens a regular file by a path of the guest; relative paths start in the workspace. Does not
    /// copy the content.
    ///
    /// # Errors
    ///
    /// As [`FileSystem::read_file`].
    pub(crate) fn open_file(&self, path: &str, max: u64) -> Result<OpenedFile<'_>, Errno> {
        let place = self.names.resolve(self.workspace, path, LastLink::Follow)?;
        if self.names.kind(place)? == FileKind::Folder {
            return Err(Errno::IsFolder);
        }
        let opened = if let Place::Own(index) = place
            && let NodeKind::File(storage) = &self.names.nodes.find(index)?.kind
        {
            OpenedFile { size: storage.size(), bytes: Box::new(storage.reader()) }
        } else {
            let content = self.mounted_content(place)?.ok_or(Errno::Invalid)?;
            let bytes: Box<dyn BufRead> = match content.shared() {
                Some(shared) => Box::new(Cursor::new(shared)),
                None => {
                    let reader = MountReader { content: &**content, position: 0 };
                    Box::new(BufReader::with_capacity(BUFFER, reader))
                }
            };
            OpenedFile { size: content.size(), bytes }
        };
        if opened.size > max { Err(Errno::FileTooBig) } else { Ok(opened) }
    }

    /// The content of a regular file by a path of the guest; relative paths start in the workspace.
    /// A mount that is in memory is not copied.
    ///
    /// # Errors
    ///
    /// `EISDIR` for folders, `EFBIG` for files of more than `max` bytes, and the errors of
    /// resolving a path.
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
