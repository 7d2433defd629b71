//! Trees of files as a pack could have them.

use std::sync::Arc;

use proptest::prelude::*;

use crate::vfs::parked::{ParkedEntry, ParkedKind, ParkedNode, ParkedShown, ParkedTree};
use crate::vfs::tree::node::{MountedAs, Times};
use crate::vfs::tree::storage::{ChunkRun, StorageShape};

/// Trees of any kind, also such as no file system can have.
pub(crate) fn tree() -> impl Strategy<Value = ParkedTree> {
    let shown = ("[a-z/]{0,9}", any::<u64>(), any::<u64>())
        .prop_map(|(path, inode, size)| ParkedShown { inode, path: path.into(), size });
    let nodes = prop::collection::btree_map(1..u64::MAX, node(), 0..8);
    (prop::collection::vec(shown, 0..3), nodes, any::<u64>()).prop_map(
        |(shown, nodes, last_inode)| ParkedTree {
            shown,
            nodes: nodes.into_iter().collect(),
            last_inode,
        },
    )
}

const NAMES: [MountedAs; 3] = [MountedAs::Unlisted, MountedAs::Listed, MountedAs::Placed];

fn node() -> impl Strategy<Value = ParkedNode> {
    let entry = ("[a-zé]{0,9}", any::<u64>(), 0..9_u64)
        .prop_map(|(name, cookie, inode)| ParkedEntry { name: name.into(), cookie, inode });
    let path = || "[a-z/]{0,9}".prop_map(Arc::<str>::from);
    let chunk = (any::<usize>(), any::<usize>(), any::<usize>())
        .prop_map(|(count, length, capacity)| ChunkRun { count, length, capacity });
    let chunks = prop::collection::vec(chunk, 0..3);
    let shape = (any::<u64>(), any::<usize>(), chunks, prop::option::of(path()));
    let kind = prop_oneof![
        (any::<u64>(), prop::collection::vec(entry, 0..4))
            .prop_map(|(next_cookie, entries)| ParkedKind::Folder { next_cookie, entries }),
        shape.prop_map(|(size, table, chunks, mounted)| {
            ParkedKind::File(StorageShape { size, table, chunks, mounted })
        }),
        "[a-z/]{0,9}".prop_map(|target| ParkedKind::Link(target.into())),
        (0..9_u64, path(), prop::sample::select(NAMES.to_vec()))
            .prop_map(|(blob, path, name)| ParkedKind::Mounted { blob, path, name }),
    ];
    let times = any::<[u64; 3]>().prop_map(|[accessed, modified, changed]| Times {
        accessed,
        modified,
        changed,
    });
    (times, kind).prop_map(|(times, kind)| ParkedNode { times, kind })
}
