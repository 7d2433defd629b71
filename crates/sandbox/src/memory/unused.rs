//! Memory of a guest that nothing uses between two turns, and that is zero in its image.

use std::ops::Range;

use crate::memory::dirty::DirtyPages;
use crate::memory::{MemoryError, PAGE};

const ZEROS: [u8; PAGE] = [0; PAGE];

/// Zeroes the private pages of `part`, which begins with a page. Pages that are not private are those
/// of the image and are not touched: reading them would cost a page fault each. Where private pages are
/// unknown, nothing is done.
pub(super) fn zero_private(dirty: &DirtyPages, part: &mut [u8]) -> Result<(), MemoryError> {
    let first = part.as_ptr().addr();
    let mut private: Vec<Range<usize>> = Vec::new();
    dirty.visit(first..first.saturating_add(part.len()), &mut |run| {
        private.push(run.start.saturating_sub(first)..run.end.saturating_sub(first));
        Ok(())
    })?;
    for run in private {
        let end = run.end.min(part.len());
        let Some(run) = part.get_mut(run.start..end) else { continue };
        for page in run.chunks_mut(PAGE) {
            if ZEROS.get(..page.len()) != Some(&*page) {
                page.fill(0);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_pages_become_zero_and_others_stay_outside_of_the_part() {
        for dirty in [DirtyPages::best(), DirtyPages::without_scan()] {
            let mut memory = vec![7_u8; 12 * PAGE];
            let start = memory.as_ptr().addr().next_multiple_of(PAGE) - memory.as_ptr().addr();
            let part = start + 2 * PAGE..start + 6 * PAGE;
            zero_private(&dirty, &mut memory[part.clone()]).unwrap();
            assert!(memory[part.clone()].iter().all(|byte| *byte == 0), "with {}", dirty.name());
            assert!(memory[..part.start].iter().chain(&memory[part.end..]).all(|byte| *byte == 7));
        }
    }

    #[test]
    fn nothing_is_done_where_private_pages_are_unknown() {
        let mut memory = vec![7_u8; PAGE];
        zero_private(&DirtyPages::Unknown, &mut memory).unwrap();
        assert_eq!(memory, vec![7; PAGE]);
    }

    #[test]
    fn a_part_may_be_empty() {
        zero_private(&DirtyPages::best(), &mut []).unwrap();
    }
}
