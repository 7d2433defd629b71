//! Reads packs without a guest.

use crate::clock_and_random::{ClockAndRandom, ClockAndRandomMode};
use crate::error::SandboxError;
use crate::memory::PAGE;
use crate::run::guest::open::process_for;
use crate::session::clocks::read_clocks;
use crate::session::error::PackError;
use crate::session::files::descriptors::{read_descriptors, write_descriptors};
use crate::session::files::tree::{read_tree, write_tree};
use crate::session::pack::head::read_pack;
use crate::session::pack::reader::PackReader;
use crate::session::pack::writer::PackWriter;
use crate::session::pages::memory::unpack_memory;
use crate::session::resume::{restore_process, room_for_shown};
use crate::vfs::parked::Rebuild;
use crate::vfs::{Errno, Mount};
use wardian_formats::job::SetupLimits;
use wardian_formats::job::session::checkpoint::PackFacts;
use wardian_vocabulary::clock::Clock;

/// Reads a chain of packs to its end, oldest pack first, as [`resume`](crate::Sandbox::resume) does for
/// a guest with these limits that mounts nothing. Returns the facts of the last one.
///
/// Without a guest there is no image, so the state is not compared with its root.
///
/// # Errors
///
/// The first fault of the packs.
pub fn examine(packs: &[&[u8]], limits: &SetupLimits) -> Result<PackFacts, SandboxError> {
    let opened = packs.iter().map(|pack| read_pack(pack)).collect::<Result<Vec<_>, _>>()?;
    let facts: Vec<PackFacts> = opened.iter().map(|pack| pack.facts).collect();
    let newest = opened.last().ok_or(PackError::damaged("there is none"))?;
    PackFacts::check_chain(newest.head.image, &facts).map_err(PackError::from)?;
    let (clocks, _) = read_clocks(newest.parts.clocks)?;
    let mode = match clocks.seeded {
        None => ClockAndRandomMode::Live,
        Some(seeded) => ClockAndRandomMode::of_state(&seeded),
    };
    let mut process = process_for(limits, &[], ClockAndRandom::new(mode, Clock::System))?;
    restore_process(&mut process, &opened, limits)?;
    let length = usize::try_from(newest.head.memory).unwrap_or(usize::MAX);
    let mut memory = vec![0; length.min(limits.memory.as_usize()).next_multiple_of(PAGE)];
    let parts: Vec<&[u8]> = opened.iter().rev().map(|pack| pack.parts.memory).collect();
    unpack_memory(&mut memory, &parts)?;
    Ok(newest.facts)
}

/// The files of a guest as packs have them, without the bytes of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExaminedFiles {
    /// The tree of the workspace.
    pub tree: Vec<u8>,
    /// The open descriptors.
    pub descriptors: Vec<u8>,
    /// Bytes and entries that the workspace takes.
    pub usage: (u64, u32),
}

/// Rebuilds files from a tree and from descriptors, as [`resume`](crate::Sandbox::resume) does for a guest
/// with these mounts and limits, and returns what a checkpoint of that guest has.
///
/// All files are zeros.
///
/// # Errors
///
/// The first fault of the bytes. [`PackError::Unparkable`] is none of theirs: files that were accepted can
/// be parked.
pub fn examine_files(
    tree: &[u8],
    descriptors: &[u8],
    mounts: &[Mount],
    limits: &SetupLimits,
) -> Result<ExaminedFiles, SandboxError> {
    let tree = read_tree(tree)?;
    let mut input = PackReader::new(descriptors, "its descriptors are malformed");
    let descriptors = read_descriptors(&mut input)?;
    input.end()?;
    let clocks = ClockAndRandom::new(ClockAndRandomMode::Live, Clock::System);
    let mut process = process_for(limits, mounts, clocks)?;
    let mut shown = room_for_shown(&tree, limits)?;
    let mut rebuild = Rebuild::begin(&mut process.files).map_err(PackError::Files)?;
    rebuild.add_tree(&tree).map_err(PackError::Files)?;
    for file in &tree.shown {
        let content = shown.remove(&file.inode).unwrap_or_default();
        rebuild.show(file, content).map_err(PackError::Files)?;
    }
    rebuild.open_all(&descriptors).map_err(PackError::Files)?;
    let unparkable = |_: Errno| PackError::Unparkable { what: "files that are not whole" };
    let tree = write_tree(&process.files.parked_tree().map_err(unparkable)?);
    let mut output = PackWriter::default();
    write_descriptors(&process.files.parked_descriptors().map_err(unparkable)?, &mut output);
    let usage = process.files.workspace_usage();
    Ok(ExaminedFiles { tree, descriptors: output.into_bytes(), usage })
}
