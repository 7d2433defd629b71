//! The quota of a workspace: bytes and entries.

use crate::vfs::errno::Errno;
use wardian_formats::job::WORKSPACE_ENTRY_COST;

/// The cost of every entry of the workspace in addition to its name, in bytes. It exceeds the
/// bookkeeping of any kind of entry (the first child of a folder is the most expensive), so ten
/// thousand empty files never hold more memory than they are charged for.
pub(crate) const ENTRY_COST: u64 = WORKSPACE_ENTRY_COST;

/// Bytes and entries in use, and their limits.
#[derive(Debug)]
pub(crate) struct Quota {
    bytes: u64,
    peak_bytes: u64,
    max_bytes: u64,
    entries: u32,
    max_entries: u32,
}

impl Quota {
    /// An unused quota with these limits.
    pub(crate) const fn new(max_bytes: u64, max_entries: u32) -> Self {
        Self { bytes: 0, peak_bytes: 0, max_bytes, entries: 0, max_entries }
    }

    /// The largest size of a file: a hole may be as large as the workspace, never larger.
    pub(crate) const fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Bytes that can still be charged.
    pub(crate) const fn free_bytes(&self) -> u64 {
        self.max_bytes.saturating_sub(self.bytes)
    }

    /// True if at least half of the bytes and of the entries can still be charged.
    pub(crate) const fn is_half_free(&self) -> bool {
        self.bytes <= self.max_bytes / 2 && self.entries < self.max_entries / 2
    }

    /// Bytes in use, bookkeeping included.
    pub(crate) const fn used_bytes(&self) -> u64 {
        self.bytes
    }

    /// The peak number of bytes in use.
    pub(crate) const fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// Entries in use.
    pub(crate) const fn used_entries(&self) -> u32 {
        self.entries
    }

    /// The limit on entries.
    pub(crate) const fn max_entries(&self) -> u32 {
        self.max_entries
    }

    /// Charges `bytes`, all or nothing.
    pub(crate) const fn charge(&mut self, bytes: u64) -> Result<(), Errno> {
        if bytes > self.free_bytes() {
            return Err(Errno::NoSpace);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.peak_bytes {
            self.peak_bytes = self.bytes;
        }
        Ok(())
    }

    /// Releases `bytes`.
    pub(crate) const fn release(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Charges the cost of an entry with this name, all or nothing.
    pub(crate) fn charge_entry(&mut self, name: &str) -> Result<(), Errno> {
        if self.entries >= self.max_entries {
            return Err(Errno::NoSpace);
        }
        self.charge(entry_cost(name))?;
        self.entries = self.entries.saturating_add(1);
        Ok(())
    }

    /// Charges or releases the difference in cost of two names.
    pub(crate) fn rename_entry(&mut self, old: &str, new: &str) -> Result<(), Errno> {
        let (old, new) = (entry_cost(old), entry_cost(new));
        self.charge(new.saturating_sub(old))?;
        self.release(old.saturating_sub(new));
        Ok(())
    }

    /// Releases the cost of an entry with this name.
    pub(crate) fn release_entry(&mut self, name: &str) {
        self.release(entry_cost(name));
        self.entries = self.entries.saturating_sub(1);
    }
}

fn entry_cost(name: &str) -> u64 {
    ENTRY_COST.saturating_add(u64::try_from(name.len()).unwrap_or(u64::MAX))
}
