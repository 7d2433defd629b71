//! Files and clocks that are parked without a guest.

mod files;
mod hostile;
pub(crate) mod trees;

use std::collections::BTreeMap;

use crate::clock_and_random::{ClockAndRandom, ClockAndRandomMode};
use crate::preview1::GuestProcess;
use crate::run::guest::open::process_for;
use crate::session::checkpoint::{ParkedFiles, pack_files};
use crate::session::clocks::write_clocks;
use crate::session::error::PackError;
use crate::session::files::contents::FilePages;
use crate::session::pack::head::{Head, PackParts, read_pack, write_pack};
use crate::session::pages::list::PageList;
use crate::session::resume::restore_process;
use crate::session::state::root;
use crate::vfs::parked::{Inode, ParkedDescriptor, ParkedTree};
use crate::vfs::tests::{BLOB, mounts};
use crate::vfs::{Mount, NameInWorkspace, Usage};
use wardian_formats::job::SetupLimits;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Low enough that programs reach each of them.
pub(super) const LIMITS: SetupLimits = SetupLimits {
    workspace: ByteCount::kibibytes(400),
    workspace_entries: 30,
    open_files: 8,
    ..SetupLimits::DEFAULT
};

/// A process without a guest.
pub(super) fn begun(limits: &SetupLimits, mounts: &[Mount]) -> GuestProcess {
    let mode = ClockAndRandomMode::Seeded { seed: [3; 32], realtime: std::time::Duration::ZERO };
    process_for(limits, mounts, ClockAndRandom::new(mode, Clock::System)).unwrap()
}

/// A process whose workspace shows blobs.
pub(super) fn with_blobs(limits: &SetupLimits) -> GuestProcess {
    let mut process = begun(limits, &mounts());
    let names = [("a", NameInWorkspace::Listed), ("x", NameInWorkspace::Unlisted)];
    for (name, shown) in names {
        process.files.name_blob(BLOB, name, shown, 5).unwrap();
    }
    process.files.place_blob(BLOB, &"c/b".parse().unwrap(), 5).unwrap();
    process
}

/// The packs of a process, one after another.
#[derive(Default)]
pub(super) struct Packs {
    pub(super) packs: Vec<Vec<u8>>,
    files: FilePages,
    roots: Vec<Digest>,
}

impl Packs {
    /// Packs what has changed since the last time.
    pub(super) fn park(&mut self, process: &GuestProcess) {
        let packed = pack_files(process, std::mem::take(&mut self.files)).unwrap();
        let ParkedFiles { contents, descriptors } = packed;
        let clocks = write_clocks(&process.clock_and_random.parked(), process.last_change());
        let image = Digest::of(b"image");
        let head = Head {
            image,
            order: image,
            sequence: u32::try_from(self.packs.len()).unwrap() + 1,
            base: self.packs.last().map(|last| Digest::of(last)),
            root: root((0, &PageList::default()), &contents.pages, &descriptors),
            pages: contents.count,
            memory: 0,
        };
        let (contents_bytes, files) = (&contents.bytes, &descriptors);
        let parts = PackParts { memory: &[], contents: contents_bytes, files, clocks: &clocks };
        self.roots.push(head.root);
        self.packs.push(write_pack(&head, parts).bytes);
        self.files = contents.pages;
    }

    /// Gives a process that has just begun the state of the last pack. Later packs continue from there.
    #[expect(
        clippy::panic_in_result_fn,
        reason = "errors are the result, and wrong ones a failed test"
    )]
    pub(super) fn resume_into(
        &mut self,
        process: &mut GuestProcess,
        limits: &SetupLimits,
    ) -> Result<(), PackError> {
        let opened: Vec<_> = self.packs.iter().map(|pack| read_pack(pack).unwrap()).collect();
        let (files, counts) = restore_process(process, &opened, limits)?;
        let pages: Vec<u64> = opened.iter().rev().map(|pack| pack.head.pages).collect();
        assert_eq!(counts, pages);
        let found = root((0, &PageList::default()), &files, opened.last().unwrap().parts.files);
        assert_eq!(Some(&found), self.roots.last());
        self.files = files;
        Ok(())
    }
}

/// All that can be known of a process's files.
#[derive(Debug, PartialEq)]
pub(super) struct Seen {
    tree: ParkedTree,
    descriptors: Vec<ParkedDescriptor>,
    bytes: BTreeMap<Inode, Vec<u8>>,
    usage: Usage,
    workspace: (u64, u32),
}

pub(super) fn seen(process: &GuestProcess) -> Seen {
    let files = &process.files;
    let bytes = files.stored_bytes().unwrap().into_iter().map(|(inode, bytes)| {
        let mut all = vec![0; usize::try_from(bytes.size()).unwrap()];
        bytes.read_at(0, &mut all).unwrap();
        (inode, all)
    });
    Seen {
        tree: files.parked_tree().unwrap(),
        descriptors: files.parked_descriptors().unwrap(),
        bytes: bytes.collect(),
        usage: files.usage(),
        workspace: files.workspace_usage(),
    }
}
