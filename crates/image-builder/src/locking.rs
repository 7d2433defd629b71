//! Makes SQLite's file locks behave as on Linux within one process.
//!
//! The engine's SQLite uses lock files (`unix-dotfile`), because the C library has no record locks.
//! Such a lock shuts out every other connection, readers included. Only the run itself can open a
//! file in its workspace, so locks between processes are not needed: the records that SQLite keeps
//! in memory about its own connections suffice. Three words in memory are set before the
//! interpreter starts. The names of the file systems stay, since the engine chooses its default by
//! name.

use wardian_sandbox::Preset;

/// A word of memory: its address, its old value and its new value.
type Word = (u32, u32, u32);

/// The words of the pinned engine. In another release the old values differ and no image is made;
/// then find its addresses: `aSyscall` and `aVfs` of SQLite's `os_unix.c`, the finders of two of
/// its file systems, and any function of the table that takes three words and returns zero.
const WORDS: [Word; 3] = [
    // `aSyscall[7]`, `fcntl`: always succeeds (the entry of `pysqlite_prepare_protocol_init`).
    (27_516_200, 46_597, 2_543),
    // `unix-dotfile`, the default, locks with `posixIoFinder`.
    (27_515_668, 25_857_532, 25_857_524),
    // `unix-excl` gets the finder that `unix-dotfile` had.
    (27_515_756, 25_857_524, 25_857_532),
];

/// Values that are put into memory before the interpreter starts.
pub(super) fn presets() -> impl Iterator<Item = Preset> {
    WORDS.iter().map(|&(address, before, after)| Preset {
        address,
        before: before.to_le_bytes().to_vec(),
        after: after.to_le_bytes().to_vec(),
    })
}

/// The part of an image's key that depends on these words.
pub(super) fn key() -> String {
    WORDS.iter().map(|(address, _, after)| format!("{address}={after} ")).collect()
}
