//! The tree of files as bytes.

use std::sync::Arc;

use crate::session::error::PackError;
use crate::session::pack::reader::PackReader;
use crate::session::pack::writer::PackWriter;
use crate::vfs::parked::{ParkedEntry, ParkedKind, ParkedNode, ParkedShown, ParkedTree};
use crate::vfs::tree::node::{MountedAs, Times};
use crate::vfs::tree::storage::{ChunkRun, StorageShape};
use crate::vfs::{MAX_NAME, MAX_PATH};

const FOLDER: u8 = 0;
const FILE: u8 = 1;
const LINK: u8 = 2;
const MOUNTED: u8 = 3;

const UNLISTED: u8 = 0;
const LISTED: u8 = 1;
const PLACED: u8 = 2;

/// Fewest bytes of a node: its number, its kind and its times.
const SHORTEST_NODE: usize = 1 + 1 + 24;

/// Fewest bytes of an entry: its name, its cookie and a number.
const SHORTEST_ENTRY: usize = 2 + 1 + 1;

/// Writes a tree. Parts that stay the same stay at their places, as far as possible.
pub(crate) fn write_tree(tree: &ParkedTree) -> Vec<u8> {
    let mut output = PackWriter::default();
    output.number(tree.last_inode);
    output.count(tree.shown.len());
    for ParkedShown { inode, path, size } in &tree.shown {
        output.number(*inode);
        output.text(path);
        output.number(*size);
    }
    output.count(tree.nodes.len());
    let mut last = 0_u64;
    for (inode, node) in &tree.nodes {
        output.number(inode.saturating_sub(last));
        last = *inode;
        write_node(node, &mut output);
    }
    output.into_bytes()
}

fn write_node(ParkedNode { times, kind }: &ParkedNode, output: &mut PackWriter) {
    output.byte(match kind {
        ParkedKind::Folder { .. } => FOLDER,
        ParkedKind::File(_) => FILE,
        ParkedKind::Link(_) => LINK,
        ParkedKind::Mounted { .. } => MOUNTED,
    });
    for time in [times.accessed, times.modified, times.changed] {
        output.u64(time);
    }
    match kind {
        ParkedKind::Folder { next_cookie, entries } => {
            output.number(*next_cookie);
            output.count(entries.len());
            for ParkedEntry { name, cookie, inode } in entries {
                output.text(name);
                output.number(*cookie);
                output.number(*inode);
            }
        }
        ParkedKind::File(shape) => write_shape(shape, output),
        ParkedKind::Link(target) => output.text(target),
        ParkedKind::Mounted { blob, path, name } => {
            output.number(*blob);
            output.text(path);
            output.byte(match name {
                MountedAs::Unlisted => UNLISTED,
                MountedAs::Listed => LISTED,
                MountedAs::Placed => PLACED,
            });
        }
    }
}

fn write_shape(shape: &StorageShape, output: &mut PackWriter) {
    output.number(shape.size);
    output.count(shape.table);
    output.flag(shape.mounted.is_some());
    shape.mounted.iter().for_each(|path| output.text(path));
    output.count(shape.chunks.len());
    for ChunkRun { count, length, capacity } in &shape.chunks {
        output.count(*count);
        output.count(*length);
        output.count(*capacity);
    }
}

/// Reads a tree. It may be one that no file system can have.
///
/// # Errors
///
/// It is no tree at all.
pub(crate) fn read_tree(bytes: &[u8]) -> Result<ParkedTree, PackError> {
    let mut input = PackReader::new(bytes, "its tree of files is malformed");
    let last_inode = input.number()?;
    let count = input.count(3)?;
    let mut shown = Vec::with_capacity(count);
    for _ in 0..count {
        let inode = input.number()?;
        let path = Arc::from(input.text(MAX_PATH)?);
        shown.push(ParkedShown { inode, path, size: input.number()? });
    }
    let count = input.count(SHORTEST_NODE)?;
    let mut nodes = Vec::with_capacity(count);
    let mut last = 0_u64;
    for _ in 0..count {
        let gap = input.number()?;
        last = last.checked_add(gap).filter(|_| gap > 0).ok_or_else(|| input.fault())?;
        nodes.push((last, read_node(&mut input)?));
    }
    input.end()?;
    Ok(ParkedTree { shown, nodes, last_inode })
}

fn read_node(input: &mut PackReader<'_>) -> Result<ParkedNode, PackError> {
    let kind = input.byte()?;
    let times = Times { accessed: input.u64()?, modified: input.u64()?, changed: input.u64()? };
    let kind = match kind {
        FOLDER => {
            let next_cookie = input.number()?;
            let count = input.count(SHORTEST_ENTRY)?;
            let mut entries = Vec::with_capacity(count);
            for _ in 0..count {
                let name = Arc::from(input.text(MAX_NAME)?);
                let (cookie, inode) = (input.number()?, input.number()?);
                entries.push(ParkedEntry { name, cookie, inode });
            }
            ParkedKind::Folder { next_cookie, entries }
        }
        FILE => ParkedKind::File(read_shape(input)?),
        LINK => ParkedKind::Link(input.text(MAX_PATH)?.into()),
        MOUNTED => {
            let (blob, path) = (input.number()?, Arc::from(input.text(MAX_PATH)?));
            let name = match input.byte()? {
                UNLISTED => MountedAs::Unlisted,
                LISTED => MountedAs::Listed,
                PLACED => MountedAs::Placed,
                _ => return Err(input.fault()),
            };
            ParkedKind::Mounted { blob, path, name }
        }
        _ => return Err(input.fault()),
    };
    Ok(ParkedNode { times, kind })
}

fn read_shape(input: &mut PackReader<'_>) -> Result<StorageShape, PackError> {
    let size = input.number()?;
    let table = input.length()?;
    let mounted = if input.flag()? { Some(Arc::from(input.text(MAX_PATH)?)) } else { None };
    let count = input.count(3)?;
    let mut chunks = Vec::with_capacity(count);
    for _ in 0..count {
        let (count, length) = (input.length()?, input.length()?);
        chunks.push(ChunkRun { count, length, capacity: input.length()? });
    }
    Ok(StorageShape { size, table, chunks, mounted })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session::tests::trees::tree;

    proptest! {
        #[test]
        fn a_tree_is_read_as_it_was_written(tree in tree()) {
            let written = write_tree(&tree);
            prop_assert_eq!(read_tree(&written).unwrap(), tree);
            prop_assert!(read_tree(&written[..written.len() - 1]).is_err());
        }

        #[test]
        fn bounded_packs_have_trees_of_their_size(
            tree in tree(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
        ) {
            let mut written = write_tree(&tree);
            for (at, byte) in changes {
                let at = at.index(written.len());
                written[at] = byte;
            }
            if let Ok(tree) = read_tree(&written) {
                prop_assert_eq!(write_tree(&tree), written, "a tree has one form");
            }
        }
    }
}
