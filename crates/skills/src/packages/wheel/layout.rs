//! Checks that an archive is its entries and its directory, one behind the other, and that both say
//! the same: readers that follow the directory, that follow the local headers, and that look for the
//! directory from either end see the same files.

/// The length of the record at the end of an archive that has no comment.
const END: usize = 22;

/// The length of the two records before it in the large form of the format.
const LARGE_ENDS: usize = 56 + 20;

/// An extra field with another name for the entry, which some readers take in place of the first.
const OTHER_NAME: u16 = 0x7075;

/// An extra field with numbers that do not fit into their places.
const LARGE_NUMBERS: u16 = 0x0001;

/// The mark of a length that stands in an extra field instead.
const IS_ELSEWHERE: u32 = u32::MAX;

/// The bit that says that lengths and checksum follow the content.
const HAS_DESCRIPTOR: u16 = 1 << 3;

const IS_CUT: &str = "it is cut off";
const IS_SURROUNDED: &str = "it has bytes before, between or after its parts";
const HAS_TWO_ACCOUNTS: &str = "the header of an entry differs from the directory";

/// An entry of the directory, and where its header is.
struct Entry<'a> {
    start: u32,
    flags: u16,
    method: u16,
    checksum: u32,
    packed: u32,
    length: u32,
    name: &'a [u8],
}

/// Returns the number of entries.
///
/// # Errors
///
/// The problem, as a sentence about the archive.
pub(super) fn check_layout(bytes: &[u8]) -> Result<usize, &'static str> {
    let end_at = bytes.len().checked_sub(END).ok_or(IS_CUT)?;
    let end = Fields(bytes.get(end_at..).unwrap_or_default());
    if end.u32(0)? != 0x0605_4b50 || end.u16(20)? != 0 {
        return Err(IS_SURROUNDED);
    }
    let (count, size, start) = (end.u16(10)?, end.u32(12)?, end.u32(16)?);
    if count == u16::MAX || size == IS_ELSEWHERE || start == IS_ELSEWHERE {
        return Err("it is larger than a wheel may be");
    }
    let (start, size) = (to_usize(start)?, to_usize(size)?);
    let directory_end = start.checked_add(size).ok_or(IS_CUT)?;
    let between = Fields(bytes.get(directory_end..end_at).ok_or(IS_CUT)?);
    let is_large_form = between.0.len() == LARGE_ENDS
        && between.u32(0)? == 0x0606_4b50
        && between.u32(56)? == 0x0706_4b50;
    if !between.0.is_empty() && !is_large_form {
        return Err(IS_SURROUNDED);
    }
    let mut entries = entries(bytes.get(start..directory_end).ok_or(IS_CUT)?)?;
    if entries.len() != usize::from(count) {
        return Err("its directory has a different number of entries than stated");
    }
    entries.sort_unstable_by_key(|entry| entry.start);
    let mut next = 0;
    for entry in &entries {
        if to_usize(entry.start)? != next {
            return Err(IS_SURROUNDED);
        }
        next = entry.end(bytes)?;
    }
    if next == start { Ok(entries.len()) } else { Err(IS_SURROUNDED) }
}

/// The entries of a directory.
fn entries(mut directory: &[u8]) -> Result<Vec<Entry<'_>>, &'static str> {
    let mut entries = Vec::new();
    while !directory.is_empty() {
        let head = Fields(directory);
        if head.u32(0)? != 0x0201_4b50 {
            return Err(IS_SURROUNDED);
        }
        let [name, extra, comment] = [head.u16(28)?, head.u16(30)?, head.u16(32)?].map(usize::from);
        let mut rest = directory.get(46..).ok_or(IS_CUT)?;
        let mut part = |length| {
            let (part, behind) = rest.split_at_checked(length).ok_or(IS_CUT)?;
            rest = behind;
            Ok::<_, &'static str>(part)
        };
        let (name, extra, _) = (part(name)?, part(extra)?, part(comment)?);
        check_extra(extra)?;
        let stated = [head.u32(24)?, head.u32(20)?, head.u32(42)?];
        let [length, packed, start] = in_full(stated, extra)?;
        let (flags, method, checksum) = (head.u16(8)?, head.u16(10)?, head.u32(16)?);
        entries.push(Entry { start, flags, method, checksum, packed, length, name });
        directory = rest;
    }
    Ok(entries)
}

impl Entry<'_> {
    /// Checks the local header. Returns where the entry ends.
    fn end(&self, bytes: &[u8]) -> Result<usize, &'static str> {
        let start = to_usize(self.start)?;
        let local = bytes.get(start..).ok_or(IS_CUT)?;
        let head = Fields(local);
        if head.u32(0)? != 0x0403_4b50 {
            return Err(IS_SURROUNDED);
        }
        let [name_length, extra_length] = [head.u16(26)?, head.u16(28)?].map(usize::from);
        let names_end = 30_usize.saturating_add(name_length);
        let content = names_end.saturating_add(extra_length);
        let name = local.get(30..names_end).ok_or(IS_CUT)?;
        let extra = local.get(names_end..content).ok_or(IS_CUT)?;
        check_extra(extra)?;
        let is_same =
            name == self.name && head.u16(6)? == self.flags && head.u16(8)? == self.method;
        if !is_same {
            return Err(HAS_TWO_ACCOUNTS);
        }
        let end = content.checked_add(to_usize(self.packed)?).ok_or(IS_CUT)?;
        let [length, packed] = in_full([head.u32(22)?, head.u32(18)?], extra)?;
        let stated = [head.u32(14)?, packed, length];
        let known = [self.checksum, self.packed, self.length];
        let mut pairs = stated.iter().zip(known);
        let behind = match self.flags & HAS_DESCRIPTOR != 0 {
            false if stated == known => 0,
            // The lengths may be there already, or be zero.
            true if pairs.all(|(one, known)| *one == 0 || *one == known) => {
                self.descriptor(local.get(end..).ok_or(IS_CUT)?)?
            }
            _ => return Err(HAS_TWO_ACCOUNTS),
        };
        let end = end.checked_add(behind).ok_or(IS_CUT)?;
        start.checked_add(end).filter(|end| *end <= bytes.len()).ok_or(IS_CUT)
    }

    /// The length of what follows the content: a mark or none, the checksum, and two lengths of four
    /// or of eight bytes.
    fn descriptor(&self, rest: &[u8]) -> Result<usize, &'static str> {
        let [checksum, packed, length] = [self.checksum, self.packed, self.length];
        let small = [checksum, packed, length].map(u32::to_le_bytes).concat();
        let large = [checksum, packed, 0, length, 0].map(u32::to_le_bytes).concat();
        let mark = b"PK\x07\x08";
        for form in [[&mark[..], &large].concat(), [&mark[..], &small].concat(), large, small] {
            if rest.starts_with(&form) {
                return Ok(form.len());
            }
        }
        Err(HAS_TWO_ACCOUNTS)
    }
}

/// Numbers of a header, those in place that stand in an extra field. A wheel has none that is large.
fn in_full<const N: usize>(stated: [u32; N], mut extra: &[u8]) -> Result<[u32; N], &'static str> {
    let mut large: &[u8] = &[];
    while let Some((head, rest)) = extra.split_first_chunk::<4>() {
        let [one, two, three, four] = *head;
        let [kind, length] = [[one, two], [three, four]].map(u16::from_le_bytes);
        let (field, rest) = rest.split_at_checked(length.into()).unwrap_or((rest, &[]));
        large = if kind == LARGE_NUMBERS { field } else { large };
        extra = rest;
    }
    let mut numbers = stated;
    for number in numbers.iter_mut().filter(|number| **number == IS_ELSEWHERE) {
        let (eight, rest) = large.split_first_chunk::<8>().ok_or(IS_CUT)?;
        let full = u32::try_from(u64::from_le_bytes(*eight));
        *number = full.ok().ok_or("it is larger than a wheel may be")?;
        large = rest;
    }
    Ok(numbers)
}

/// Refuses an extra field that names the entry once more.
fn check_extra(mut extra: &[u8]) -> Result<(), &'static str> {
    while !extra.is_empty() {
        let field = Fields(extra);
        // Padding that is too short for a field is ignored by all readers.
        let (Ok(kind), Ok(length)) = (field.u16(0), field.u16(2)) else { return Ok(()) };
        if kind == OTHER_NAME {
            return Err("an entry has two names");
        }
        extra = extra.get(4_usize.saturating_add(length.into())..).unwrap_or_default();
    }
    Ok(())
}

fn to_usize(number: u32) -> Result<usize, &'static str> {
    usize::try_from(number).ok().ok_or(IS_CUT)
}

/// Numbers at fixed places of a record.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u16(&self, at: usize) -> Result<u16, &'static str> {
        let bytes = self.0.get(at..).and_then(<[u8]>::first_chunk::<2>).ok_or(IS_CUT)?;
        Ok(u16::from_le_bytes(*bytes))
    }

    fn u32(&self, at: usize) -> Result<u32, &'static str> {
        let bytes = self.0.get(at..).and_then(<[u8]>::first_chunk::<4>).ok_or(IS_CUT)?;
        Ok(u32::from_le_bytes(*bytes))
    }
}
