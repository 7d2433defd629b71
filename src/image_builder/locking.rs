//! Lets SQLite lock files as it does on Linux, as far as one process can tell.
//!
//! The engine's SQLite keeps locks in files (`unix-dotfile`), because the C library has no locks
//! of records: any lock then shuts out every other connection, readers too. No process but the run
//! itself can open a file here, so locks between processes have nothing to do; what SQLite keeps
//! in memory about its own connections is all that is needed. Three places in memory are set before
//! the interpreter starts. The names stay, since the engine chooses its default by name.

use crate::sandbox::Preset;

/// A word of memory: its address, what it is, and what it becomes.
type Word = (u32, u32, u32);

/// For the pinned engine. With another release nothing stands at these addresses that is expected
/// there, and no image is made. It has new addresses: `aSyscall` and `aVfs` of SQLite's
/// `os_unix.c`, the finders of two of its file systems, and any function of the table
/// that takes three words and answers zero.
const WORDS: [Word; 3] = [
    // `aSyscall[7]`, `fcntl`: always succeeds (the entry of `pysqlite_prepare_protocol_init`).
    (27_516_200, 46_597, 2_543),
    // `unix-dotfile`, the default, locks with `posixIoFinder`.
    (27_515_668, 25_857_532, 25_857_524),
    // And `unix-excl` with files.
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

/// Names the words, so that an image that was made with others is not taken for one with these.
pub(super) fn key() -> String {
    WORDS.iter().map(|(address, _, after)| format!("{address}={after} ")).collect()
}
