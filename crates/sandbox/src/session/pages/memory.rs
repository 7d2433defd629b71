//! The pages of a guest's memory in packs.

use std::ops::Range;

use crate::memory::{self, MemoryError, PAGE, PageBytes, SlotPool};
use crate::session::error::PackError;
use crate::session::pack::reader::PackReader;
use crate::session::pages::frame::{FrameReader, FrameRoom, FrameWriter, PageForm};
use crate::session::pages::hash::PageHash;
use crate::session::pages::list::{Comparison, PageList};

/// The pages that have changed, and all that differ from the image.
#[derive(Debug)]
pub(crate) struct PackedMemory {
    pub(crate) frames: Vec<u8>,
    pub(crate) count: u64,
    pub(crate) pages: PageList,
}

/// Packs the pages of `memory` that have changed since the list `before` was made. With an empty list,
/// all that differ from the image. Those that are `unused` get the bytes of the image before.
///
/// # Errors
///
/// The page table cannot be read.
pub(crate) fn pack_memory(
    pool: &SlotPool,
    memory: &mut [u8],
    unused: &[Range<usize>],
    before: PageList,
) -> Result<PackedMemory, MemoryError> {
    let mut writer = FrameWriter::new();
    let end = u32::try_from(memory.len() / PAGE).unwrap_or(u32::MAX);
    let mut comparison = Comparison::new(before, &mut writer, 0, end);
    pool.visit_changed(memory, unused, &mut |page, now, then| comparison.page(page, now, then))?;
    let pages = comparison.finish();
    let (frames, count) = writer.finish();
    Ok(PackedMemory { frames, count, pages })
}

/// Gives `memory`, which is that of the image, the state of a chain. `parts` are the pages of its packs,
/// the newest first. Returns the pages that differ from the image, and how many the packs describe.
///
/// # Errors
///
/// A part is malformed, or describes pages beyond the memory.
pub(crate) fn unpack_memory(
    memory: &mut [u8],
    parts: &[&[u8]],
) -> Result<(PageList, Vec<u64>), PackError> {
    let (memory, _) = memory.as_chunks_mut::<PAGE>();
    let end = u64::try_from(memory.len()).unwrap_or(u64::MAX);
    let mut seen = vec![false; memory.len()];
    let (mut found, mut counts) = (Vec::new(), Vec::with_capacity(parts.len()));
    let mut room = FrameRoom::new();
    for part in parts {
        let input = PackReader::new(part, "its pages of memory are malformed");
        let beyond = input.fault();
        let mut reader = FrameReader::new(input, end);
        let mut count = 0_u64;
        while let Some(frame) = reader.frame()? {
            count = count.saturating_add(frame.count());
            let is_new = |page| usize::try_from(page).ok().and_then(|page| seen.get(page));
            if frame.pages().all(|page| is_new(page) == Some(&true)) {
                continue;
            }
            populate_new(memory, &seen, frame.changed());
            frame.unpack(&mut room, &mut |page, described| {
                let number = u32::try_from(page).ok().ok_or_else(|| beyond.clone())?;
                let at = usize::try_from(page).ok().ok_or_else(|| beyond.clone())?;
                let (Some(seen), Some(place)) = (seen.get_mut(at), memory.get_mut(at)) else {
                    return Err(beyond.clone());
                };
                if std::mem::replace(seen, true) {
                    return Ok(());
                }
                match described {
                    // The memory of a new guest has the image's bytes.
                    PageForm::Pristine => return Ok(()),
                    PageForm::Zero => place.fill(0),
                    PageForm::Raw(bytes) => place.copy_from_slice(bytes),
                    PageForm::Xor(bytes) => {
                        place.iter_mut().zip(bytes).for_each(|(place, byte)| *place ^= byte);
                    }
                }
                found.push((number, PageHash::of(place)));
                Ok(())
            })?;
        }
        counts.push(count);
    }
    Ok((PageList::of(found), counts))
}

/// Makes the pages private at one go that are written to next: `pages` ascend, and those that were `seen` are
/// not written to.
fn populate_new(memory: &mut [PageBytes], seen: &[bool], pages: impl Iterator<Item = u64>) {
    let mut run = 0..0_usize;
    let mut end_run = |run: &Range<usize>| {
        // One page is made private by the write itself.
        if run.len() > 1 {
            memory::populate(memory.get_mut(run.clone()).unwrap_or_default());
        }
    };
    for page in pages.filter_map(|page| usize::try_from(page).ok()) {
        if seen.get(page) != Some(&false) {
            continue;
        }
        if page != run.end {
            end_run(&run);
            run.start = page;
        }
        run.end = page.saturating_add(1);
    }
    end_run(&run);
}
