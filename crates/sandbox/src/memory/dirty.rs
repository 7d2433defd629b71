//! Finds the private copies among the pages of a private mapping, with the kernel's page table.
//!
//! There are three ways, best first: the `PAGEMAP_SCAN` ioctl (Linux 6.7 and later), reading
//! `/proc/self/pagemap`, or treating every page as private and dropping it.
//! Formats: `Documentation/admin-guide/mm/pagemap.rst` in the Linux sources.
//!
//! The page table is read after every run. The count of page faults cannot replace that: a page
//! becomes private without a fault of this process when the kernel collapses pages into a huge one,
//! when swap is switched off, or when a debugger writes. Only the page table shows all of them.
//! Reading it costs some sixty microseconds for the base image, after the run has been answered.
#![expect(unsafe_code, reason = "the kernel writes to memory that it is given by address")]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::memory::{MemoryError, PAGE};

/// The page table of this process.
const PAGEMAP: &str = "/proc/self/pagemap";

/// The way in which private pages are found. Chosen once, when a worker starts.
#[derive(Debug)]
pub(crate) enum DirtyPages {
    /// `PAGEMAP_SCAN`: one system call for the whole memory.
    Scan(File),
    /// `/proc/self/pagemap`: eight bytes per page.
    Read(File),
    /// Unknown: every reset drops all private pages.
    Unknown,
}

impl DirtyPages {
    /// The best way that this kernel offers.
    ///
    /// Must be called before the process locks itself down, since it opens a file.
    #[must_use]
    pub(crate) fn best() -> Self {
        let Ok(pagemap) = open_unprivileged(PAGEMAP) else {
            return Self::Unknown;
        };
        let probe = vec![0_u8; PAGE];
        let start = probe.as_ptr().addr() & !(PAGE - 1);
        let one_page = start..start.saturating_add(PAGE);
        if scan(&pagemap, one_page, &mut |_| Ok(())).is_ok() {
            Self::Scan(pagemap)
        } else {
            Self::Read(pagemap)
        }
    }

    /// The best way of kernels before 6.7.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn without_scan() -> Self {
        open_unprivileged(PAGEMAP).map_or(Self::Unknown, Self::Read)
    }

    /// The file that must stay open.
    #[must_use]
    pub(crate) const fn file(&self) -> Option<&File> {
        match self {
            Self::Scan(pagemap) | Self::Read(pagemap) => Some(pagemap),
            Self::Unknown => None,
        }
    }

    /// Name for reports.
    #[must_use]
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Scan(_) => "pagemap-scan",
            Self::Read(_) => "pagemap-read",
            Self::Unknown => "remap",
        }
    }

    /// Calls `visit` with every run of private pages in `addresses`, in order. Returns `false` if
    /// they are unknown.
    pub(super) fn visit(
        &self,
        addresses: Range<usize>,
        visit: &mut dyn FnMut(Range<usize>) -> Result<(), MemoryError>,
    ) -> Result<bool, MemoryError> {
        match self {
            Self::Scan(pagemap) => scan(pagemap, addresses, visit)?,
            Self::Read(pagemap) => read(pagemap, addresses, visit)?,
            Self::Unknown => return Ok(false),
        }
        Ok(true)
    }
}

/// Opens a file without capabilities, and restores the capabilities afterwards.
///
/// INVARIANT(no-frame-numbers): a worker cannot read physical addresses in the page table. The
/// kernel checks the capabilities when the file is opened, and a worker keeps the file, so a
/// process that starts as root must drop its capabilities before.
fn open_unprivileged(path: &str) -> io::Result<File> {
    let own = capabilities(None)?;
    if own.effective.is_empty() {
        return File::open(path);
    }
    set_capabilities(None, CapabilitySets { effective: CapabilitySet::empty(), ..own })?;
    let opened = File::open(path);
    set_capabilities(None, own)?;
    opened
}

/// `struct pm_scan_arg` of `linux/fs.h`.
#[repr(C)]
#[derive(Default)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    region_count: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `struct page_region` of `linux/fs.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

/// `_IOWR('f', 16, struct pm_scan_arg)`.
pub(super) const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;

/// The page belongs to a file or to shared memory: it is a page of the image.
const PAGE_IS_FILE: u64 = 1 << 2;
/// The page is in memory.
const PAGE_IS_PRESENT: u64 = 1 << 3;
/// The page is in swap. It is private if it does not belong to a file.
const PAGE_IS_SWAPPED: u64 = 1 << 4;
/// The page is the kernel's shared page of zeros.
const PAGE_IS_PFNZERO: u64 = 1 << 5;

/// Regions that one call may return; more need another call.
const REGIONS: usize = 512;

fn scan(
    pagemap: &File,
    addresses: Range<usize>,
    visit: &mut dyn FnMut(Range<usize>) -> Result<(), MemoryError>,
) -> Result<(), MemoryError> {
    let mut regions = [Region::default(); REGIONS];
    let mut start = widen(addresses.start);
    let end = widen(addresses.end);
    while start < end {
        let mut arguments = ScanArguments {
            size: widen(size_of::<ScanArguments>()),
            start,
            end,
            regions: widen(regions.as_mut_ptr().addr()),
            region_count: widen(REGIONS),
            category_inverted: PAGE_IS_FILE | PAGE_IS_PFNZERO,
            category_mask: PAGE_IS_FILE | PAGE_IS_PFNZERO,
            category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
            return_mask: PAGE_IS_PRESENT,
            ..ScanArguments::default()
        };
        // SAFETY: `arguments` has the layout and size that the kernel expects, and points at
        // `regions`, which holds as many entries as it says and outlives the call.
        let found = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut arguments) };
        let Ok(found) = usize::try_from(found) else {
            let cause = io::Error::last_os_error();
            return Err(MemoryError::System { what: "scan the page table", cause });
        };
        for region in regions.iter().take(found) {
            visit(narrow(region.start)..narrow(region.end))?;
        }
        if arguments.walk_end <= start {
            return Err(MemoryError::System {
                what: "scan the page table",
                cause: io::Error::other("the scan does not advance"),
            });
        }
        start = arguments.walk_end;
    }
    Ok(())
}

/// Bit 61 of a pagemap entry: the page belongs to a file or to shared memory.
const ENTRY_FILE: u64 = 1 << 61;
/// Bits 62 and 63: the page is in swap, or in memory.
const ENTRY_EXISTS: u64 = 3 << 62;

fn read(
    pagemap: &File,
    addresses: Range<usize>,
    visit: &mut dyn FnMut(Range<usize>) -> Result<(), MemoryError>,
) -> Result<(), MemoryError> {
    let cause = |cause| MemoryError::System { what: "read the page table", cause };
    let mut entries = vec![0_u8; 8 * REGIONS];
    let mut page = addresses.start / PAGE;
    let last = addresses.end.div_ceil(PAGE);
    let mut open: Option<Range<usize>> = None;
    while page < last {
        let count = last.saturating_sub(page).min(REGIONS);
        let wanted = entries.get_mut(..count.saturating_mul(8)).unwrap_or_default();
        pagemap.read_exact_at(wanted, widen(page).saturating_mul(8)).map_err(cause)?;
        for entry in wanted.chunks_exact(8) {
            let entry = entry.try_into().map_or(0, u64::from_ne_bytes);
            let address = page.saturating_mul(PAGE);
            let next = address.saturating_add(PAGE);
            if entry & ENTRY_EXISTS != 0 && entry & ENTRY_FILE == 0 {
                open.get_or_insert(address..address).end = next;
            } else if let Some(run) = open.take() {
                visit(run)?;
            }
            page = page.saturating_add(1);
        }
    }
    open.map_or(Ok(()), visit)
}

fn widen(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn narrow(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entry of a page of this process that is certainly in memory.
    fn entry_in(pagemap: &File) -> u64 {
        let page = vec![7_u8; 2 * PAGE];
        let number = std::hint::black_box(&page).as_ptr().addr() / PAGE + 1;
        let mut entry = [0; 8];
        pagemap.read_exact_at(&mut entry, widen(number) * 8).unwrap();
        u64::from_ne_bytes(entry)
    }

    #[test]
    fn no_frame_numbers_are_seen_by_a_process_that_starts_as_root() {
        const FRAME: u64 = (1 << 55) - 1;
        for dirty in [DirtyPages::best(), DirtyPages::without_scan()] {
            let entry = entry_in(dirty.file().unwrap());
            assert_ne!(entry & ENTRY_EXISTS, 0, "the page is there");
            assert_eq!(entry & FRAME, 0, "the number of its frame is shown");
        }
        let own = capabilities(None).unwrap().effective;
        if own.contains(CapabilitySet::SYS_ADMIN) {
            assert_ne!(entry_in(&File::open(PAGEMAP).unwrap()) & FRAME, 0, "it is there to see");
        }
    }

    #[test]
    fn opening_restores_the_capabilities() {
        let before = capabilities(None).unwrap();
        drop(DirtyPages::best());
        assert_eq!(capabilities(None).unwrap(), before);
    }
}
