//! Makes a guest from the packs of a chain.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::SandboxError;
use crate::loaded::Sandbox;
use crate::memory::{PAGE, WASM_PAGE};
use crate::preview1::GuestProcess;
use crate::run::guest::{OpenGuest, calls};
use crate::session::clocks::read_clocks;
use crate::session::error::PackError;
use crate::session::files::contents::{ContentsUnpacker, FilePages, TREE};
use crate::session::files::descriptors::read_descriptors;
use crate::session::files::tree::read_tree;
use crate::session::pack::head::{OpenedPack, read_pack};
use crate::session::pack::reader::PackReader;
use crate::session::pages::memory::unpack_memory;
use crate::session::parking::{Chain, Parking};
use crate::session::state::{mounts_digest, order_digest, root};
use crate::vfs::Errno;
use crate::vfs::parked::{Inode, ParkedKind, ParkedTree, Rebuild};
use wardian_formats::job::session::checkpoint::{MOST_IN_CHAIN, PackFacts};
use wardian_formats::job::{Setup, SetupLimits};
use wardian_vocabulary::units::ByteCount;

impl Sandbox {
    /// Makes a guest in the state that a chain of packs ends with, oldest pack first. `setup` must be
    /// as that of the parked guest, up to its limits and environment.
    ///
    /// Nothing of the state is shared with another guest, so any number can be made from one chain.
    /// The next checkpoint continues the last pack, or is a whole one if the chain is full.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Pack`] with the reason if the packs are not a chain for this order, or are
    /// damaged. Nothing is left of the guest then, and others can be made. As [`Self::open`]
    /// otherwise.
    pub fn resume(
        &mut self,
        setup: Arc<Setup>,
        packs: &[&[u8]],
    ) -> Result<OpenGuest, SandboxError> {
        let opened = packs.iter().map(|pack| read_pack(pack)).collect::<Result<Vec<_>, _>>()?;
        let facts: Vec<PackFacts> = opened.iter().map(|pack| pack.facts).collect();
        PackFacts::check_chain(setup.image, &facts).map_err(PackError::from)?;
        let order = order_digest(&setup).map_err(SandboxError::Job)?;
        if opened.iter().any(|pack| pack.head.order != order) {
            return Err(PackError::OtherGuest.into());
        }
        let (newest, limit) = (opened.last(), setup.limits.memory);
        let length = newest.map_or(ByteCount::default(), |pack| ByteCount::bytes(pack.head.memory));
        if length > limit {
            return Err(PackError::TooMuchMemory { length, limit }.into());
        }
        let mut guest = self.open(setup)?;
        match restore(&mut guest, &opened) {
            Ok(()) => Ok(guest),
            Err(refused) => {
                self.close(guest)?;
                Err(refused)
            }
        }
    }
}

/// Gives a new guest the state of a chain.
fn restore(guest: &mut OpenGuest, packs: &[OpenedPack<'_>]) -> Result<(), SandboxError> {
    if let Some(unmade) = guest.unmade.take() {
        return Err(SandboxError::Engine(unmade));
    }
    let Some(newest) = packs.last() else { return Err(SandboxError::Over) };
    let limits = guest.setup().limits;
    let store = guest.store()?;
    let length = memory_length(newest, calls::memory_of(store).len())?;
    calls::grow_to(store, length).map_err(SandboxError::Engine)?;
    let parts: Vec<&[u8]> = packs.iter().rev().map(|pack| pack.parts.memory).collect();
    let (memory, memory_counts) = unpack_memory(calls::memory_mut(store), &parts)?;

    let process = &mut store.data_mut().lasting.process;
    let (files, file_counts) = restore_process(process, packs, &limits)?;
    let described = memory_counts.iter().zip(&file_counts);
    let described = described.map(|(memory, files)| memory.saturating_add(*files));
    if !packs.iter().rev().map(|pack| pack.head.pages).eq(described) {
        return Err(PackError::damaged("it has another number of pages").into());
    }
    if newest.head.root != root((newest.head.memory, &memory), &files, newest.parts.files) {
        return Err(PackError::OtherState.into());
    }
    let chain = Chain::of(packs.iter().map(|pack| pack.facts), memory, files);
    guest.parking = Parking { sequence: newest.head.sequence, chain };
    Ok(())
}

/// The length of the guest's memory, which was `begun` long when the guest was made.
fn memory_length(pack: &OpenedPack<'_>, begun: usize) -> Result<usize, PackError> {
    let length = usize::try_from(pack.head.memory).unwrap_or(usize::MAX);
    if length < begun || !length.is_multiple_of(WASM_PAGE) {
        return Err(PackError::damaged("its memory has a length that no memory has"));
    }
    Ok(length)
}

/// Gives the files and the clocks of a new guest the state of a chain. Returns the pages of the files,
/// and how many of them each pack describes, the newest first.
pub(crate) fn restore_process(
    process: &mut GuestProcess,
    packs: &[OpenedPack<'_>],
    limits: &SetupLimits,
) -> Result<(FilePages, Vec<u64>), PackError> {
    let newest = packs.last().ok_or(PackError::damaged("there is none"))?;
    let mut input = PackReader::new(newest.parts.files, "its descriptors are malformed");
    if input.digest()? != mounts_digest(&process.files) {
        return Err(PackError::OtherGuest);
    }
    let tree_length = input.length()?;
    let descriptors = read_descriptors(&mut input)?;
    input.end()?;
    let parts: Vec<&[u8]> = packs.iter().rev().map(|pack| pack.parts.contents).collect();
    let mut contents = ContentsUnpacker::new(&parts, most_pages(limits));
    if tree_length > longest_tree(limits) {
        return Err(PackError::damaged("its tree of files is longer than any can be"));
    }
    let tree = read_tree(&contents.tree(tree_length)?)?;
    let mut shown = room_for_shown(&tree, limits)?;
    let mut rebuild = Rebuild::begin(&mut process.files).map_err(PackError::Files)?;
    rebuild.add_tree(&tree).map_err(PackError::Files)?;
    let sizes = sizes_of(&tree, tree_length);
    let restored = contents.files(&sizes, &mut |inode, page, bytes| {
        let Some(bytes) = bytes.filter(|_| inode != TREE) else { return Ok(()) };
        let offset = u64::from(page).saturating_mul(u64::try_from(PAGE).unwrap_or(u64::MAX));
        let Some(content) = shown.get_mut(&inode) else {
            return rebuild.fill(inode, offset, bytes).map_err(PackError::Files);
        };
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let place = content.get_mut(at..).unwrap_or_default();
        place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(())
    })?;
    for file in &tree.shown {
        let content = shown.remove(&file.inode).unwrap_or_default();
        rebuild.show(file, content).map_err(PackError::Files)?;
    }
    rebuild.open_all(&descriptors).map_err(PackError::Files)?;
    let (clocks, last_change) = read_clocks(newest.parts.clocks)?;
    if !process.clock_and_random.go_on_from(&clocks) {
        return Err(PackError::OtherGuest);
    }
    process.go_on_after_change(last_change);
    Ok(restored)
}

/// Memory for the files that were mounted during the turns. The workspace is charged for them.
pub(crate) fn room_for_shown(
    tree: &ParkedTree,
    limits: &SetupLimits,
) -> Result<BTreeMap<Inode, Vec<u8>>, PackError> {
    let all = tree.shown.iter().map(|file| file.size).fold(0, u64::saturating_add);
    if all > limits.workspace.as_u64() {
        return Err(PackError::Files(Errno::NoSpace));
    }
    let room = |size| vec![0; usize::try_from(size).unwrap_or_default()];
    Ok(tree.shown.iter().map(|file| (file.inode, room(file.size))).collect())
}

/// The sizes of all files whose bytes are in packs, the tree's own among them.
fn sizes_of(tree: &ParkedTree, tree_length: usize) -> BTreeMap<Inode, u64> {
    let files = tree.nodes.iter().filter_map(|(inode, node)| match &node.kind {
        ParkedKind::File(shape) => Some((*inode, shape.size)),
        _ => None,
    });
    let shown = tree.shown.iter().map(|file| (file.inode, file.size));
    let itself = (TREE, u64::try_from(tree_length).unwrap_or(u64::MAX));
    files.chain(shown).chain([itself]).collect()
}

/// Nodes that a guest can have at most: named ones, open ones, and files that the host has mounted, which
/// take at least 1 KiB of the workspace each.
fn most_nodes(limits: &SetupLimits) -> u64 {
    let named = u64::from(limits.workspace_entries).saturating_add(limits.open_files.into());
    named.saturating_add(limits.workspace.as_u64() >> 10).saturating_add(64)
}

/// Pages of files that a pack describes at most. Each was written by a pack of its chain.
fn most_pages(limits: &SetupLimits) -> u64 {
    let chain = u64::try_from(MOST_IN_CHAIN).unwrap_or(u64::MAX);
    let tree = u64::try_from(longest_tree(limits) / PAGE).unwrap_or(u64::MAX);
    most_nodes(limits).saturating_add(tree).saturating_mul(chain)
}

/// Bytes of a tree at most: names and the targets of links are charged to the quota, paths of mounts
/// are not.
fn longest_tree(limits: &SetupLimits) -> usize {
    let named = u64::from(limits.workspace_entries).saturating_add(limits.open_files.into());
    let paths = named.saturating_add(64).saturating_mul(8192);
    usize::try_from(paths.saturating_add(limits.workspace.as_u64())).unwrap_or(usize::MAX)
}
