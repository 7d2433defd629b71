//! The quota of a workspace: bytes and entries.

use crate::sandbox::vfs::errno::Errno;

/// The cost of every entry of the workspace beside its name, in bytes: more than the bookkeeping of
/// any kind of entry takes (a folder's first child is the dearest), so that ten thousand empty
/// files cannot hold more memory than they are charged for.
pub(crate) const ENTRY_COST: u64 = 1024;

/// Bytes and entries in use, and how many there may be.
#[derive(Debug)]
pub(crate) struct Quota {
    bytes: u64,
    peak_bytes: u64,
    max_bytes: u64,
    entries: u32,
    max_entries: u32,
}

impl Quota {
    /// Nothing used yet.
    pub(crate) const fn new(max_bytes: u64, max_entries: u32) -> Self {
        Self { bytes: 0, peak_bytes: 0, max_bytes, entries: 0, max_entries }
    }

    /// The largest size a file may have: a hole may be as large as the workspace, never larger.
    pub(crate) const fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Bytes that can still be charged.
    pub(crate) const fn free_bytes(&self) -> u64 {
        self.max_bytes.saturating_sub(self.bytes)
    }

    /// Bytes in use, bookkeeping included.
    pub(crate) const fn used_bytes(&self) -> u64 {
        self.bytes
    }

    /// The most bytes that were ever in use.
    pub(crate) const fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// Entries in use.
    pub(crate) const fn used_entries(&self) -> u32 {
        self.entries
    }

    /// Entries that there may be.
    pub(crate) const fn max_entries(&self) -> u32 {
        self.max_entries
    }

    /// Takes `bytes`, all or nothing.
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

    /// Gives `bytes` back.
    pub(crate) const fn release(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Takes what an entry of this name costs, all or nothing.
    pub(crate) fn charge_entry(&mut self, name: &str) -> Result<(), Errno> {
        if self.entries >= self.max_entries {
            return Err(Errno::NoSpace);
        }
        self.charge(entry_cost(name))?;
        self.entries = self.entries.saturating_add(1);
        Ok(())
    }

    /// Takes what a longer name costs more, or gives back what a shorter one costs less.
    pub(crate) fn rename_entry(&mut self, old: &str, new: &str) -> Result<(), Errno> {
        let (old, new) = (entry_cost(old), entry_cost(new));
        self.charge(new.saturating_sub(old))?;
        self.release(old.saturating_sub(new));
        Ok(())
    }

    /// Gives back what an entry of this name cost.
    pub(crate) fn release_entry(&mut self, name: &str) {
        self.release(entry_cost(name));
        self.entries = self.entries.saturating_sub(1);
    }
}

fn entry_cost(name: &str) -> u64 {
    ENTRY_COST.saturating_add(u64::try_from(name.len()).unwrap_or(u64::MAX))
}
