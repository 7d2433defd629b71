//! Reads packs without a guest.

use crate::clock_and_random::{ClockAndRandom, ClockAndRandomMode};
use crate::error::SandboxError;
use crate::memory::PAGE;
use crate::run::guest::open::process_for;
use crate::session::clocks::read_clocks;
use crate::session::error::PackError;
use crate::session::pack::head::read_pack;
use crate::session::pages::memory::unpack_memory;
use crate::session::resume::restore_process;
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
