//! Reads files of operators bounded.

use std::fs::File;
use std::io::{self, Read as _};

use zeroize::Zeroizing;

/// Reads up to `most` bytes and one more, by which the caller sees that there are too many.
pub(crate) fn read_bounded(file: File, most: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    // Room for all of it, so that no piece of the content stays in memory that was outgrown.
    let length = file.metadata()?.len().min(limit);
    let room = usize::try_from(length).unwrap_or(most).saturating_add(1);
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
