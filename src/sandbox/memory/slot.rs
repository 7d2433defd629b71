//! One reserved address range that guests run in, one after another.

use std::sync::Arc;

use crate::sandbox::memory::dirty::DirtyPages;
use crate::sandbox::memory::image::MemoryImage;
use crate::sandbox::memory::mapping::Mapping;
use crate::sandbox::memory::{MemoryError, PAGE};

/// A linear memory between runs or in a run.
///
/// ```text
///   guard | image (private, copy-on-write) | grown (anonymous) | reserved, inaccessible | guard
///         0                     image length           accessible             reservation
/// ```
#[derive(Debug)]
pub(super) struct Slot {
    mapping: Mapping,
    image: Arc<MemoryImage>,
    guard: usize,
    reservation: usize,
    /// Bytes that the guest can touch.
    accessible: usize,
    /// Largest `accessible` since private pages were last dropped: beyond it there are none.
    touched: usize,
    /// Private pages that the last reset left for the next run.
    kept: usize,
}

/// What a reset did, for measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reset {
    /// Private pages that were there.
    pub(super) pages: usize,
    /// True if they were dropped rather than restored.
    pub(super) dropped: bool,
}

impl Slot {
    /// Reserves addresses and lays the image over their beginning.
    pub(super) fn new(
        image: &Arc<MemoryImage>,
        reservation: usize,
        guard: usize,
    ) -> Result<Self, MemoryError> {
        let total = reservation.saturating_add(guard.saturating_mul(2));
        let mapping = Mapping::reserve(total)?;
        if image.length() > reservation {
            return Err(MemoryError::Image { problem: "does not fit its reservation" });
        }
        mapping.map_private(guard, image.length(), image.as_ref())?;
        let accessible = image.length();
        let image = Arc::clone(image);
        Ok(Self { mapping, image, guard, reservation, accessible, touched: accessible, kept: 0 })
    }

    /// Where the guest's address zero lies.
    pub(super) fn base(&self) -> *mut u8 {
        self.mapping.base().wrapping_add(self.guard)
    }

    /// Bytes that the guest can touch.
    pub(super) const fn accessible(&self) -> usize {
        self.accessible
    }

    /// Makes one page private.
    #[cfg(test)]
    pub(super) fn write_a_byte(&self) {
        self.mapping.zero(self.guard, 1).unwrap();
    }

    /// True if it reserves and guards exactly that many bytes.
    pub(super) const fn is_like(&self, reservation: usize, guard: usize) -> bool {
        self.reservation == reservation && self.guard == guard
    }

    /// Bytes of private memory that the last reset left for the next run.
    pub(super) const fn kept(&self) -> usize {
        self.kept.saturating_mul(PAGE)
    }

    /// Bytes that the guest could have at most.
    pub(super) const fn reservation(&self) -> usize {
        self.reservation
    }

    /// Makes the memory `size` bytes long; the new part reads as zero.
    pub(super) fn grow_to(&mut self, size: usize) -> Result<(), MemoryError> {
        if size > self.reservation {
            return Err(MemoryError::Image { problem: "cannot grow past its reservation" });
        }
        if let Some(more) = size.checked_sub(self.accessible).filter(|more| *more > 0) {
            self.mapping.open(self.at(self.accessible), more)?;
            self.accessible = size;
            self.touched = self.touched.max(size);
        }
        Ok(())
    }

    /// Gives every byte that the next guest can see the image's value.
    ///
    /// Keeps at most `keep` bytes of private pages, because they are what makes the next run
    /// fast; beyond that all are dropped, so that one greedy run does not cost memory for ever.
    pub(super) fn reset(&mut self, dirty: &DirtyPages, keep: usize) -> Result<Reset, MemoryError> {
        let first = self.base().addr();
        let mut runs = Vec::new();
        let mut pages = 0_usize;
        let known = dirty.visit(first..first.saturating_add(self.touched), &mut |run| {
            pages = pages.saturating_add(run.len() / PAGE);
            runs.push(run.start.saturating_sub(first)..run.end.saturating_sub(first));
            Ok(())
        })?;
        let dropped = !known || pages.saturating_mul(PAGE) > keep;
        if dropped {
            self.mapping.drop_private(self.guard, self.touched)?;
            self.touched = self.image.length();
        } else {
            for run in runs {
                self.restore(run.start, run.end)?;
            }
        }
        let image = self.image.length();
        if let Some(grown) = self.accessible.checked_sub(image).filter(|grown| *grown > 0) {
            self.mapping.close(self.at(image), grown)?;
            self.accessible = image;
        }
        self.kept = if dropped { 0 } else { pages };
        Ok(Reset { pages, dropped })
    }

    /// Restores one run of private pages, which may straddle the image's end and the end of
    /// what is accessible. Pages beyond that were zeroed by an earlier reset and closed since.
    fn restore(&self, start: usize, end: usize) -> Result<(), MemoryError> {
        let image = self.image.length();
        let copied = end.min(image);
        if start < copied {
            let pristine = self.image.pristine();
            self.mapping.copy_at(self.guard, pristine, start, copied.saturating_sub(start))?;
        }
        let from = start.max(image);
        let to = end.min(self.accessible);
        if from < to {
            self.mapping.zero(self.at(from), to.saturating_sub(from))?;
        }
        Ok(())
    }

    /// Compares the whole memory with the image.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Residue`] names the first byte that differs.
    pub(super) fn verify(&self) -> Result<(), MemoryError> {
        const STEP: usize = 1 << 20;
        let image = self.image.length();
        for start in (0..image).step_by(STEP) {
            let length = STEP.min(image.saturating_sub(start));
            let differs = self.mapping.with_bytes(self.at(start), length, |now| {
                let pristine = self.image.pristine();
                pristine.with_bytes(start, length, |then| first_difference(now, then))
            })??;
            if let Some(at) = differs {
                return Err(MemoryError::Residue { offset: start.saturating_add(at) });
            }
        }
        self.verify_grown(image)
    }

    /// Looks at the pages past the image that stay in memory between runs: all must be zero.
    fn verify_grown(&self, image: usize) -> Result<(), MemoryError> {
        let Some(grown) = self.touched.checked_sub(image).filter(|grown| *grown > 0) else {
            return Ok(());
        };
        self.mapping.open(self.at(image), grown)?;
        let stain = self
            .mapping
            .with_bytes(self.at(image), grown, |bytes| bytes.iter().position(|byte| *byte != 0))?;
        self.mapping.close(self.at(image), grown)?;
        stain.map_or(Ok(()), |at| Err(MemoryError::Residue { offset: image.saturating_add(at) }))
    }

    const fn at(&self, offset: usize) -> usize {
        self.guard.saturating_add(offset)
    }
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    if one == other {
        return None;
    }
    one.iter().zip(other).position(|(a, b)| a != b)
}

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "a guest's writes are played through the base pointer")]

    use proptest::prelude::*;

    use super::*;
    use crate::sandbox::memory::image::WASM_PAGE;

    const RESERVATION: usize = 64 * WASM_PAGE;
    const KEEP: usize = 16 << 20;

    fn image(pages: usize) -> Arc<MemoryImage> {
        let bytes: Vec<u8> =
            (0..pages * WASM_PAGE)
                .map(|at| {
                    if (at / PAGE).is_multiple_of(3) { 0 } else { u8::try_from(at % 251).unwrap() }
                })
                .collect();
        Arc::new(MemoryImage::open(MemoryImage::seal(bytes.as_slice()).unwrap()).unwrap())
    }

    fn write(slot: &Slot, offset: usize, byte: u8, length: usize) {
        let length = length.min(slot.accessible() - offset);
        let start = slot.base().wrapping_add(offset);
        // SAFETY: inside the accessible part, as computed above.
        unsafe { std::ptr::write_bytes(start, byte, length) };
    }

    #[derive(Debug, Clone)]
    enum Damage {
        Write { at: usize, byte: u8, length: usize },
        Grow { pages: usize },
    }

    fn damage() -> impl Strategy<Value = Damage> {
        let write = (any::<prop::sample::Index>(), any::<u8>(), 1..40_000_usize).prop_map(
            |(at, byte, length)| Damage::Write { at: at.index(RESERVATION), byte, length },
        );
        prop_oneof![4 => write, 1 => (1..20_usize).prop_map(|pages| Damage::Grow { pages })]
    }

    fn suffer(slot: &mut Slot, damage: &Damage) {
        match *damage {
            Damage::Write { at, byte, length } => {
                write(slot, at % slot.accessible(), byte, length);
            }
            Damage::Grow { pages } => {
                let size = (slot.accessible() + pages * WASM_PAGE).min(RESERVATION);
                slot.grow_to(size).unwrap();
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn reset_complete_after_any_damage(
            runs in prop::collection::vec(prop::collection::vec(damage(), 0..12), 1..5),
            keep in prop_oneof![Just(KEEP), Just(0), Just(20 * PAGE)],
        ) {
            let image = image(3);
            for dirty in [DirtyPages::best(), DirtyPages::without_scan(), DirtyPages::Unknown] {
                let mut slot = Slot::new(&image, RESERVATION, PAGE).unwrap();
                for run in &runs {
                    for each in run {
                        suffer(&mut slot, each);
                    }
                    slot.reset(&dirty, keep).unwrap();
                    prop_assert_eq!(slot.accessible(), image.length());
                    slot.verify().unwrap();
                }
                slot.grow_to(RESERVATION).unwrap();
                let grown = RESERVATION - image.length();
                let zero = slot
                    .mapping
                    .with_bytes(slot.at(image.length()), grown, |b| b.iter().all(|b| *b == 0))
                    .unwrap();
                prop_assert!(zero, "grown memory was not zero with {}", dirty.name());
            }
        }
    }

    #[test]
    fn a_run_of_pages_across_the_images_end_is_split() {
        let image = image(1);
        let mut slot = Slot::new(&image, RESERVATION, PAGE).unwrap();
        slot.grow_to(2 * WASM_PAGE).unwrap();
        write(&slot, WASM_PAGE - 3 * PAGE, 0xaa, 6 * PAGE);

        let reset = slot.reset(&DirtyPages::best(), KEEP).unwrap();

        assert_eq!(reset, Reset { pages: 6, dropped: false });
        slot.verify().unwrap();
    }

    #[test]
    fn a_greedy_run_is_dropped() {
        let image = image(1);
        let mut slot = Slot::new(&image, RESERVATION, PAGE).unwrap();
        slot.grow_to(32 * WASM_PAGE).unwrap();
        write(&slot, 0, 1, 32 * WASM_PAGE);
        assert!(slot.reset(&DirtyPages::best(), 64 * PAGE).unwrap().dropped);
        assert_eq!(slot.reset(&DirtyPages::best(), 64 * PAGE).unwrap().pages, 0);
        slot.verify().unwrap();
    }

    #[test]
    fn residue_is_found_by_verification() {
        let image = image(2);
        let mut slot = Slot::new(&image, RESERVATION, PAGE).unwrap();
        write(&slot, 70_001, 0xee, 1);
        let found = slot.verify().unwrap_err();
        assert!(matches!(found, MemoryError::Residue { offset: 70_001 }), "{found}");
        slot.grow_to(3 * WASM_PAGE).unwrap();
        slot.reset(&DirtyPages::best(), KEEP).unwrap();
        slot.verify().unwrap();
    }

    #[test]
    fn growth_past_the_reservation_is_refused() {
        let mut slot = Slot::new(&image(1), RESERVATION, PAGE).unwrap();
        assert!(slot.grow_to(RESERVATION + WASM_PAGE).is_err());
        assert_eq!(slot.accessible(), WASM_PAGE);
    }

    #[test]
    fn every_kernel_has_a_way() {
        assert_ne!(DirtyPages::best().name(), DirtyPages::Unknown.name());
        assert_eq!(DirtyPages::without_scan().name(), "pagemap-read");
    }
}
