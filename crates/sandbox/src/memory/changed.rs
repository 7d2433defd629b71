//! The pages of a guest's memory that can differ from its image, in the middle of the guest's life.
//!
//! INVARIANT(all-changes): every page that differs is found. As for a reset, the kernel's page table
//! says which pages are private; a page that is not has the image's bytes, or zeros past its end.

use std::ops::Range;

use crate::memory::dirty::DirtyPages;
use crate::memory::image::MemoryImage;
use crate::memory::{MemoryError, PAGE, PageBytes};

/// What is done with a page that may differ: its number, its bytes, and those of the image, which has
/// none past its end. Tells whether it differs.
pub(crate) type VisitChanged<'a> = &'a mut dyn FnMut(u32, &PageBytes, Option<&PageBytes>) -> bool;

/// Pages that are as in the image are let go once there are so many of them, since each is looked at by every
/// checkpoint. Earlier guests of the slot have left them, or the guest has written to them and back.
const MANY: usize = 64;

/// Calls `visit` with each page of `memory` that can differ from `image`, in order: those that are private.
/// `memory` is all that a guest has, from its address zero on, in a slot of the image. Pages that are `unused`
/// get the bytes of the image again, and are not visited. The ranges are numbers of pages; they ascend and do
/// not overlap. Returns the pages that are private and need not be, if there are many.
pub(super) fn visit_changed(
    image: &MemoryImage,
    dirty: &DirtyPages,
    memory: &mut [u8],
    unused: &[Range<usize>],
    visit: VisitChanged<'_>,
) -> Result<Vec<Range<usize>>, MemoryError> {
    let mut needless: Vec<Range<usize>> = Vec::new();
    // Asked once: giving a private page its bytes makes no other page private.
    let private = private_pages(dirty, memory)?;
    let (pages, _) = memory.as_chunks_mut::<PAGE>();
    let mut unused = unused.iter().peekable();
    image.pristine().with_bytes(0, image.length(), |pristine| {
        let (pristine, _) = pristine.as_chunks::<PAGE>();
        for page in private.into_iter().flatten() {
            let Some(now) = pages.get_mut(page) else { break };
            let then = pristine.get(page);
            while unused.next_if(|part| part.end <= page).is_some() {}
            if unused.peek().is_none_or(|part| page < part.start) {
                if !visit(u32::try_from(page).unwrap_or(u32::MAX), now, then) {
                    match needless.last_mut().filter(|run| run.end == page) {
                        Some(run) => run.end = page.saturating_add(1),
                        None => needless.push(page..page.saturating_add(1)),
                    }
                }
                continue;
            }
            let then = then.unwrap_or(&[0; PAGE]);
            // Reading costs less than making a shared page private.
            if now != then {
                now.copy_from_slice(then);
            }
        }
    })?;
    let is_many = needless.iter().map(Range::len).sum::<usize>() >= MANY;
    Ok(if is_many { needless } else { Vec::new() })
}

/// The numbers of the pages that are private; all if they are unknown.
fn private_pages(dirty: &DirtyPages, memory: &[u8]) -> Result<Vec<Range<usize>>, MemoryError> {
    let first = memory.as_ptr().addr();
    let end = first.saturating_add(memory.len());
    let mut private: Vec<Range<usize>> = Vec::new();
    let are_known = dirty.visit(first..end, &mut |run| {
        private.push(run.start.saturating_sub(first) / PAGE..run.end.saturating_sub(first) / PAGE);
        Ok(())
    })?;
    if are_known {
        return Ok(private);
    }
    Ok(std::iter::once(0..memory.len() / PAGE).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::WASM_PAGE;

    const IMAGE: usize = WASM_PAGE / PAGE;
    const ALL: usize = IMAGE + 9;

    fn pristine() -> Vec<u8> {
        (0..WASM_PAGE).map(|at| u8::try_from(at / PAGE * 7 % 256).unwrap()).collect()
    }

    /// Some memory at the beginning of a page of the host. All of it is private.
    fn with_memory(bytes: &[u8], look: impl FnOnce(&mut [u8])) {
        let mut memory = vec![0; bytes.len() + PAGE];
        let start = memory.as_ptr().addr().next_multiple_of(PAGE) - memory.as_ptr().addr();
        let memory = &mut memory[start..start + bytes.len()];
        memory.copy_from_slice(bytes);
        look(memory);
    }

    proptest! {
        #[test]
        fn all_changes_are_found_and_what_is_unused_is_restored(
            changes in prop::collection::vec((0..ALL * PAGE, any::<u8>()), 0..30)
        ) {
            let image = MemoryImage::seal(pristine().as_slice()).and_then(MemoryImage::open).unwrap();
            let mut bytes = pristine();
            bytes.resize(ALL * PAGE, 0);
            let before = bytes.clone();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            let differ = |page: &usize| {
                let range = page * PAGE..(page + 1) * PAGE;
                bytes[range.clone()] != before[range]
            };
            let expected: Vec<usize> = (0..ALL).filter(differ).collect();
            for dirty in [DirtyPages::best(), DirtyPages::without_scan(), DirtyPages::Unknown] {
                with_memory(&bytes, |memory| {
                    let parts = [0..7, 9..10, IMAGE - 1..IMAGE + 3];
                    let is_unused = |page: usize| parts.iter().any(|part| part.contains(&page));
                    let mut found = Vec::new();
                    let needless = visit_changed(&image, &dirty, memory, &parts, &mut |page, now, then| {
                        let page = usize::try_from(page).unwrap();
                        let range = page * PAGE..(page + 1) * PAGE;
                        assert_eq!(now[..], bytes[range.clone()]);
                        let then = then.map(|then| then.to_vec());
                        assert_eq!(then, (page < IMAGE).then(|| before[range.clone()].to_vec()));
                        found.push(page);
                        bytes[range.clone()] != before[range]
                    })
                    .unwrap();
                    assert!(found.is_sorted(), "with {}", dirty.name());
                    assert!(needless.is_empty(), "they are few");
                    let missed = expected.iter().find(|page| !found.contains(page) && !is_unused(**page));
                    assert_eq!(missed, None, "with {}", dirty.name());
                    assert!(!found.iter().any(|page| is_unused(*page)), "with {}", dirty.name());
                    for page in 0..ALL {
                        let expected = if is_unused(page) { &before } else { &bytes };
                        let range = page * PAGE..(page + 1) * PAGE;
                        assert_eq!(memory[range.clone()], expected[range], "with {}", dirty.name());
                    }
                });
            }
        }
    }
}
