//! One reserved address range that guests run in, one after another.

use std::ops::Range;
use std::sync::Arc;

use crate::memory::control_pages::{COUNTER_LENGTH, ControlPages};
use crate::memory::dirty::DirtyPages;
use crate::memory::image::MemoryImage;
use crate::memory::mapping::Mapping;
use crate::memory::{MemoryError, PAGE, WASM_PAGE};

/// The number of resets after which unused private pages are dropped.
///
/// Every reset compares all private pages, also those of earlier runs, and every private page makes
/// the page table longer. So pages of programs that no longer run must not stay forever. Dropping
/// all pages costs the next run page faults, which is negligible once in so many runs.
const WINDOW: usize = 128;

/// The number of unused private pages that is ignored.
const FEW: usize = 64;

/// The expected content of memory past the image.
const ZEROS: [u8; PAGE] = [0; PAGE];

/// A linear memory between runs or in a run.
///
/// ```text
///   guard | image (private, copy-on-write) | grown (anonymous) | inaccessible | poll page | guard
///         0                     image length           accessible        room         reservation
/// ```
///
/// The memory of the counter follows. It comes after the guard, because wasmtime takes the addresses
/// up to there for the guest's.
#[derive(Debug)]
pub(super) struct Slot {
    mapping: Arc<Mapping>,
    image: Arc<MemoryImage>,
    control_pages: Arc<ControlPages>,
    guard: usize,
    reservation: usize,
    /// Bytes that the guest can touch.
    accessible: usize,
    /// Largest `accessible` since private pages were last dropped: beyond it there are none.
    touched: usize,
    /// Runs of private pages that the last reset left for the next run, as offsets.
    private: Vec<Range<usize>>,
    habit: Habit,
}

/// The pages that the runs of a window have changed.
#[derive(Debug, Default)]
struct Habit {
    resets: usize,
    most_changed: usize,
}

impl Habit {
    /// Notes a run. Returns true at the end of a window in which every run has changed less than
    /// half of the pages.
    fn is_outgrown(&mut self, changed: usize, pages: usize) -> bool {
        self.resets = self.resets.saturating_add(1);
        self.most_changed = self.most_changed.max(changed);
        if self.resets < WINDOW {
            return false;
        }
        let most_changed = std::mem::take(self).most_changed;
        pages > most_changed.saturating_mul(2).saturating_add(FEW)
    }
}

/// The work of a reset, for measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reset {
    /// Private pages before the reset.
    pub(super) pages: usize,
    /// Pages that the guest had changed; zero if all were dropped without a comparison.
    pub(super) changed: usize,
    /// True if the private pages were dropped.
    pub(super) dropped: bool,
}

impl Slot {
    /// Reserves addresses and maps the image at their beginning.
    pub(super) fn new(
        image: &Arc<MemoryImage>,
        reservation: usize,
        guard: usize,
    ) -> Result<Self, MemoryError> {
        let counter_page = reservation.saturating_add(guard.saturating_mul(2));
        let mapping = Arc::new(Mapping::reserve(counter_page.saturating_add(COUNTER_LENGTH))?);
        let room = room_in(reservation);
        if image.length() > room {
            return Err(MemoryError::Image { problem: "does not fit its reservation" });
        }
        mapping.map_private(guard, image.length(), image.as_ref())?;
        let in_memory = guard..guard.saturating_add(image.length());
        let poll_page = guard.saturating_add(room);
        let control_pages = ControlPages::open(&mapping, poll_page, counter_page, in_memory)?;
        let accessible = image.length();
        Ok(Self {
            mapping,
            image: Arc::clone(image),
            control_pages,
            guard,
            reservation,
            accessible,
            touched: accessible,
            private: Vec::new(),
            habit: Habit::default(),
        })
    }

    /// The host's address of the guest's address zero.
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
    pub(super) fn kept(&self) -> usize {
        bytes_in(&self.private)
    }

    /// The maximum number of bytes that the guest could have.
    pub(super) const fn room(&self) -> usize {
        room_in(self.reservation)
    }

    /// The pages that control the guest.
    pub(super) const fn control_pages(&self) -> &Arc<ControlPages> {
        &self.control_pages
    }

    /// Makes the memory `size` bytes long; the new part reads as zero.
    pub(super) fn grow_to(&mut self, size: usize) -> Result<(), MemoryError> {
        if size > self.room() {
            return Err(MemoryError::Image { problem: "cannot grow past its reservation" });
        }
        if let Some(more) = size.checked_sub(self.accessible).filter(|more| *more > 0) {
            self.mapping.open(self.at(self.accessible), more)?;
            self.accessible = size;
            self.touched = self.touched.max(size);
        }
        Ok(())
    }

    /// Restores every byte that the next guest can see to the value in the image.
    ///
    /// Keeps at most `keep` bytes of private pages, because they save the next run page faults. If
    /// there are more, all are dropped, so that one large run does not take memory forever. They
    /// are also dropped if recent runs have changed only a small part of them.
    pub(super) fn reset(&mut self, dirty: &DirtyPages, keep: usize) -> Result<Reset, MemoryError> {
        self.control_pages.open_again()?;
        let known = self.ask(dirty)?;
        let pages = bytes_in(&self.private) / PAGE;
        let mut changed = 0_usize;
        let mut dropped = !known || pages.saturating_mul(PAGE) > keep;
        if !dropped {
            for run in &self.private {
                for page in run.clone().step_by(PAGE) {
                    changed = changed.saturating_add(usize::from(self.restore(page)?));
                }
            }
            dropped = self.habit.is_outgrown(changed, pages);
        }
        if dropped {
            self.mapping.drop_private(self.guard, self.touched)?;
            self.private.clear();
            self.touched = self.image.length();
            self.habit = Habit::default();
        }
        let image = self.image.length();
        if let Some(grown) = self.accessible.checked_sub(image).filter(|grown| *grown > 0) {
            self.mapping.close(self.at(image), grown)?;
            self.accessible = image;
        }
        Ok(Reset { pages, changed, dropped })
    }

    /// Lists the private pages. Returns false if they are unknown.
    fn ask(&mut self, dirty: &DirtyPages) -> Result<bool, MemoryError> {
        let first = self.base().addr();
        let private = &mut self.private;
        private.clear();
        dirty.visit(first..first.saturating_add(self.touched), &mut |run| {
            private.push(run.start.saturating_sub(first)..run.end.saturating_sub(first));
            Ok(())
        })
    }

    /// Restores a private page to the image's bytes, or to zeros past its end. Returns true if it
    /// had other bytes.
    ///
    /// Comparing first is not slower than always copying: many private pages are unchanged, because
    /// only earlier runs wrote to them.
    fn restore(&self, page: usize) -> Result<bool, MemoryError> {
        if page < self.image.length() {
            let pristine = self.image.pristine();
            let is_same = self.mapping.with_bytes(self.at(page), PAGE, |now| {
                pristine.with_bytes(page, PAGE, |then| now == then)
            })??;
            if !is_same {
                self.mapping.copy_at(self.guard, pristine, page, PAGE)?;
            }
            return Ok(!is_same);
        }
        if page >= self.accessible {
            // Zeroed by an earlier reset, and closed since.
            return Ok(false);
        }
        let is_zero = self.mapping.with_bytes(self.at(page), PAGE, |now| now == ZEROS)?;
        if !is_zero {
            self.mapping.zero(self.at(page), PAGE)?;
        }
        Ok(!is_zero)
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

    /// Checks that the pages past the image that stay in memory between runs are zero.
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

/// The poll page begins the last wasm page of a reservation.
const fn room_in(reservation: usize) -> usize {
    reservation.saturating_sub(WASM_PAGE)
}

fn bytes_in(runs: &[Range<usize>]) -> usize {
    runs.iter().map(Range::len).sum()
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

    const RESERVATION: usize = 65 * WASM_PAGE;
    const ROOM: usize = 64 * WASM_PAGE;
    const KEEP: usize = 16 << 20;
    const HUGE: usize = 2 << 20;

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
        let write = (any::<prop::sample::Index>(), any::<u8>(), 1..40_000_usize)
            .prop_map(|(at, byte, length)| Damage::Write { at: at.index(ROOM), byte, length });
        prop_oneof![4 => write, 1 => (1..20_usize).prop_map(|pages| Damage::Grow { pages })]
    }

    fn suffer(slot: &mut Slot, damage: &Damage) {
        match *damage {
            Damage::Write { at, byte, length } => {
                write(slot, at % slot.accessible(), byte, length);
            }
            Damage::Grow { pages } => {
                let size = (slot.accessible() + pages * WASM_PAGE).min(ROOM);
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
            idle in prop_oneof![4 => Just(0), 1 => Just(WINDOW)],
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
                    for _ in 0..idle {
                        slot.reset(&dirty, keep).unwrap();
                    }
                    slot.verify().unwrap();
                }
                slot.grow_to(ROOM).unwrap();
                let grown = ROOM - image.length();
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

        assert_eq!(reset, Reset { pages: 6, changed: 6, dropped: false });
        slot.verify().unwrap();
    }

    /// Runs that change the first `changed` pages each, until the slot drops its pages.
    fn resets_until_dropped(slot: &mut Slot, dirty: &DirtyPages, changed: usize) -> Option<usize> {
        (1..=3 * WINDOW).find(|_| {
            write(slot, 0, 0xbb, changed * PAGE);
            let reset = slot.reset(dirty, KEEP).unwrap();
            assert_eq!(reset.changed, changed);
            reset.dropped
        })
    }

    #[test]
    fn pages_that_runs_no_longer_change_are_dropped() {
        for dirty in [DirtyPages::best(), DirtyPages::without_scan()] {
            let mut slot = Slot::new(&image(16), RESERVATION, PAGE).unwrap();
            write(&slot, 0, 0xaa, 16 * WASM_PAGE);
            assert_eq!(slot.reset(&dirty, KEEP).unwrap().changed, 256);

            assert_eq!(resets_until_dropped(&mut slot, &dirty, 40), Some(2 * WINDOW - 1));
            slot.verify().unwrap();
            write(&slot, 0, 0xbb, 40 * PAGE);
            assert_eq!(slot.reset(&dirty, KEEP).unwrap().pages, 40, "with {}", dirty.name());
        }
    }

    #[test]
    fn pages_that_stay_private_are_compared_after_every_run() {
        for dirty in [DirtyPages::best(), DirtyPages::without_scan()] {
            let mut slot = Slot::new(&image(16), RESERVATION, PAGE).unwrap();
            write(&slot, 3 * PAGE, 0xaa, 2 * PAGE);
            let first = Reset { pages: 2, changed: 2, dropped: false };
            assert_eq!(slot.reset(&dirty, KEEP).unwrap(), first);
            for _ in 0..3 {
                write(&slot, 4 * PAGE, 0xaa, PAGE);
                let again = Reset { pages: 2, changed: 1, dropped: false };
                assert_eq!(slot.reset(&dirty, KEEP).unwrap(), again, "with {}", dirty.name());
                slot.verify().unwrap();
                slot.reset(&dirty, KEEP).unwrap();
            }
            write(&slot, 40 * PAGE, 0xaa, 1);
            let other = Reset { pages: 3, changed: 1, dropped: false };
            assert_eq!(slot.reset(&dirty, KEEP).unwrap(), other, "with {}", dirty.name());
            slot.verify().unwrap();
        }
    }

    #[test]
    fn pages_that_runs_need_stay() {
        let dirty = DirtyPages::best();
        let mut slot = Slot::new(&image(16), RESERVATION, PAGE).unwrap();
        write(&slot, 0, 0xaa, 16 * WASM_PAGE);
        slot.reset(&dirty, KEEP).unwrap();
        assert_eq!(resets_until_dropped(&mut slot, &dirty, 100), None);

        // One large run in a window is enough.
        for at in 0..3 * WINDOW {
            let changed = if at % (WINDOW - 1) == 0 { 256 } else { 1 };
            write(&slot, 0, 0xcc, changed * PAGE);
            assert!(!slot.reset(&dirty, KEEP).unwrap().dropped);
        }
        slot.verify().unwrap();
    }

    #[test]
    fn pages_of_a_run_beyond_the_limit_are_dropped() {
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
        assert!(slot.grow_to(ROOM + WASM_PAGE).is_err());
        assert_eq!(slot.accessible(), WASM_PAGE);
    }

    #[test]
    fn every_kernel_has_a_way_to_find_private_pages() {
        assert_ne!(DirtyPages::best().name(), DirtyPages::Unknown.name());
        assert_eq!(DirtyPages::without_scan().name(), "pagemap-read");
    }

    /// Addresses of a whole huge page in the part of a slot that has grown.
    fn huge_range(slot: &Slot) -> Range<usize> {
        let first = (slot.base().addr() + slot.image.length()).next_multiple_of(HUGE);
        assert!(first + HUGE <= slot.base().addr() + slot.accessible());
        first..first + HUGE
    }

    /// Gives the kernel advice about memory, such as to make huge pages of it.
    fn advise(addresses: &Range<usize>, advice: libc::c_int) -> std::io::Result<()> {
        let start = std::ptr::with_exposed_provenance_mut(addresses.start);
        // SAFETY: neither a huge page nor the leave to make one changes what memory holds.
        match unsafe { libc::madvise(start, addresses.len(), advice) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    #[test]
    fn reset_complete_when_the_kernel_collapses_pages_between_runs() {
        for dirty in [DirtyPages::best(), DirtyPages::without_scan(), DirtyPages::Unknown] {
            let mut slot = Slot::new(&image(3), 4 * HUGE, PAGE).unwrap();
            let room = slot.room();
            slot.grow_to(room).unwrap();
            let huge = huge_range(&slot);
            let at = |page: usize| huge.start - slot.base().addr() + page * PAGE;
            let (first, other) = (at(0), at(7));
            write(&slot, first, 0xaa, PAGE);
            slot.reset(&dirty, KEEP).unwrap();

            slot.grow_to(room).unwrap();
            // As if small pages had not been requested: the reset must be right without that.
            advise(&huge, libc::MADV_HUGEPAGE).unwrap();
            write(&slot, first, 0xaa, PAGE);
            slot.reset(&dirty, KEEP).unwrap();
            slot.grow_to(room).unwrap();
            // Nothing is collapsed where no page is; after a reset this one may be gone.
            write(&slot, first, 0xaa, PAGE);
            let collapsed = advise(&huge, libc::MADV_COLLAPSE);
            assert!(collapsed.is_ok() || !offers_huge_pages(), "{collapsed:?}");
            write(&slot, other, 0xbb, PAGE);
            slot.reset(&dirty, KEEP).unwrap();
            slot.verify().unwrap_or_else(|found| panic!("{found} with {}", dirty.name()));
        }
    }

    #[test]
    fn small_pages_are_all_that_slots_and_images_have() {
        let image = image(2 * HUGE / WASM_PAGE);
        let mut slot = Slot::new(&image, 8 * HUGE, PAGE).unwrap();
        slot.grow_to(slot.room()).unwrap();
        let grown = huge_range(&slot);
        write(&slot, 0, 0xaa, slot.accessible());
        let in_image = slot.base().addr().next_multiple_of(HUGE);
        let pristine = image.pristine().base().addr().next_multiple_of(HUGE);
        for start in [grown.start, in_image, pristine] {
            let refused = advise(&(start..start + HUGE), libc::MADV_COLLAPSE);
            let errno = refused.unwrap_err().raw_os_error();
            assert_eq!(errno, Some(libc::EINVAL));
        }
        slot.reset(&DirtyPages::best(), KEEP).unwrap();
        slot.verify().unwrap();
        // Shows that the refusals above are not those of a kernel without huge pages.
        let is_built_in = std::path::Path::new("/sys/kernel/mm/transparent_hugepage").try_exists();
        assert_eq!(offers_huge_pages(), is_built_in.unwrap());
    }

    /// True if this kernel makes huge pages when asked to.
    fn offers_huge_pages() -> bool {
        let mapping = Mapping::reserve(2 * HUGE).unwrap();
        mapping.open(0, 2 * HUGE).unwrap();
        mapping.zero(0, 2 * HUGE).unwrap();
        let start = mapping.base().addr().next_multiple_of(HUGE);
        let all = mapping.base().addr()..mapping.base().addr() + 2 * HUGE;
        advise(&all, libc::MADV_HUGEPAGE).is_ok()
            && advise(&(start..start + HUGE), libc::MADV_COLLAPSE).is_ok()
    }
}
