//! Makes the pack of a guest between two turns.

use std::ops::Range;
use std::sync::Arc;

use crate::error::SandboxError;
use crate::loaded::Sandbox;
use crate::memory::PAGE;
use crate::preview1::GuestProcess;
use crate::run::guest::{OpenGuest, calls};
use crate::session::clocks::write_clocks;
use crate::session::error::PackError;
use crate::session::files::contents::{FilePages, PackedContents, pack_contents};
use crate::session::files::descriptors::write_descriptors;
use crate::session::files::tree::write_tree;
use crate::session::free_heap::free_pages;
use crate::session::pack::head::{Head, Pack, PackParts, write_pack};
use crate::session::pack::writer::PackWriter;
use crate::session::pages::memory::{PackedMemory, pack_memory};
use crate::session::parking::{Chain, Parking};
use crate::session::state::{mounts_digest, order_digest, root};
use crate::vfs::Errno;
use wardian_engine::CStack;
#[cfg(doc)]
use wardian_formats::job::session::checkpoint::MOST_IN_CHAIN;

/// The files of a guest, packed.
pub(crate) struct ParkedFiles {
    pub(crate) contents: PackedContents,
    /// The digest of the mounts, the length of the tree, and the descriptors.
    pub(crate) descriptors: Vec<u8>,
}

impl Sandbox {
    /// Makes a checkpoint of a guest whose last turn has left it whole: the bytes from which
    /// [`resume`](Self::resume) makes a guest in the same state. The guest can go on meanwhile.
    ///
    /// What the turn has left below the stack pointer is dead, and so is memory that was freed. Both are set
    /// back to the image if the sandbox knows [where the stack is](crate::SandboxConfig::c_stack) and
    /// [what is free](crate::SandboxConfig::heap).
    ///
    /// The first pack of a guest is a whole one. Later ones continue the pack before, so they are of
    /// use only to who has all of them, up to [`MOST_IN_CHAIN`]; then comes a whole one again. A whole one
    /// comes as well instead of one with which most of the chain would be dead, and after a failure.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Over`] if a turn has not left the guest whole, [`SandboxError::Pack`] if it has
    /// something that cannot be parked.
    pub fn checkpoint(&self, guest: &mut OpenGuest) -> Result<Pack, SandboxError> {
        if !guest.can_go_on || guest.made.is_none() {
            return Err(SandboxError::Over);
        }
        let chain = guest.parking.chain.take().filter(Chain::has_place);
        let (pack, chain) = match self.pack_after(guest, chain)? {
            (_, chain) if chain.is_mostly_dead() => self.pack_after(guest, None)?,
            made => made,
        };
        let sequence = guest.parking.sequence.saturating_add(1);
        guest.parking = Parking { sequence, chain: Some(chain) };
        Ok(pack)
    }

    /// The pages of a guest's memory whose bytes nothing reads any more, as ranges that ascend. The stack
    /// comes first in it.
    fn unused_pages(&self, memory: &[u8]) -> Vec<Range<usize>> {
        let stack = self.config.c_stack.map(|CStack { base, size_bytes }| {
            let end = usize::try_from(base.saturating_add(size_bytes)).unwrap_or_default();
            0..end / PAGE
        });
        let heap = self.config.heap.map(|heap| free_pages(memory, heap)).unwrap_or_default();
        let end = stack.as_ref().map_or(0, |stack| stack.end);
        let heap = heap.into_iter().map(|pages| pages.start.max(end)..pages.end);
        stack.into_iter().chain(heap.filter(|pages| !pages.is_empty())).collect()
    }

    /// Makes the pack that continues a chain, or a whole one, and returns it with the chain that it ends.
    fn pack_after(
        &self,
        guest: &mut OpenGuest,
        chain: Option<Chain>,
    ) -> Result<(Pack, Chain), SandboxError> {
        let base = chain.as_ref().map(|chain| chain.last);
        let (sizes, before) = match chain {
            Some(Chain { length, whole, total, most, memory, files, .. }) => {
                (Some((length, whole, total, most)), (memory, files))
            }
            None => (None, <_>::default()),
        };
        let (memory, files) = before;
        let order = order_digest(guest.setup()).map_err(SandboxError::Job)?;
        let (image, sequence) = (guest.setup().image, guest.parking.sequence.saturating_add(1));
        let loaded = Arc::clone(&guest.image);

        let store = guest.store()?;
        let unused = self.unused_pages(calls::memory_of(store));
        let bytes = calls::memory_mut(store);
        let packed = pack_memory(loaded.pool(), bytes, &unused, memory)?;
        let PackedMemory { frames, count, pages } = packed;
        let memory_length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let process = &store.data().lasting.process;
        let ParkedFiles { contents, descriptors } = pack_files(process, files)?;
        let clocks = write_clocks(&process.clock_and_random.parked(), process.last_change());

        let root = root((memory_length, &pages), &contents.pages, &descriptors);
        let described = count.saturating_add(contents.count);
        let head =
            Head { image, order, sequence, base, root, pages: described, memory: memory_length };
        let pack = write_pack(
            &head,
            PackParts {
                memory: &frames,
                contents: &contents.bytes,
                files: &descriptors,
                clocks: &clocks,
            },
        );
        let (last, size) = (pack.facts.digest, pack.facts.size.as_u64());
        let (length, whole, total, most) = sizes.unwrap_or((0, size, 0, 0));
        let (length, total) = (length.saturating_add(1), total.saturating_add(size));
        let (memory, files) = (pages, contents.pages);
        let mut chain = Chain { last, length, whole, total, most, memory, files };
        chain.most = chain.most.max(chain.pages());
        Ok((pack, chain))
    }
}

/// Packs what has changed of the files of a guest since the lists `before` were made.
pub(crate) fn pack_files(
    process: &GuestProcess,
    before: FilePages,
) -> Result<ParkedFiles, PackError> {
    let files = &process.files;
    let unparkable = |_: Errno| PackError::Unparkable { what: "files that are not whole" };
    let tree = write_tree(&files.parked_tree().map_err(unparkable)?);
    let stored = files.stored_bytes().map_err(unparkable)?;
    let contents = pack_contents(&tree, &stored, before);
    let unreadable = |_| PackError::Unparkable { what: "a mounted file that cannot be read" };
    let contents = contents.map_err(unreadable)?;
    let mut output = PackWriter::default();
    output.digest(&mounts_digest(files));
    output.count(tree.len());
    write_descriptors(&files.parked_descriptors().map_err(unparkable)?, &mut output);
    Ok(ParkedFiles { contents, descriptors: output.into_bytes() })
}
