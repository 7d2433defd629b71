//! Pages in frames: what a pack says of pages, compressed.
//!
//! ```text
//!  1 byte   pages of the frame, 1 to 16
//!           each: the number of pages since the one before, and two bits for how it is described
//!  if any of them has bytes:
//!  1 byte   0 if the bytes follow as they are, 1 if they are compressed with LZ4, then
//!           their compressed length
//!           4,096 bytes for each page that has some
//! ```
//!
//! The pages of all frames ascend. A frame of 16 pages is large enough to compress well, and small
//! enough that a reader needs no memory beyond one.

use std::fmt;

use lz4_flex::block::{
    CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size,
};

use crate::memory::{PAGE, PageBytes};
use crate::session::error::PackError;
use crate::session::pack::reader::PackReader;
use crate::session::pack::writer::PackWriter;

/// Most pages of one frame.
const IN_FRAME: usize = 16;

/// Most bytes of one frame before compression.
const FRAME: usize = IN_FRAME * PAGE;

const ZEROS: PageBytes = [0; PAGE];

/// Bits for how a page is described.
const KIND_BITS: u32 = 2;
const PRISTINE: u64 = 0;
const ZERO: u64 = 1;
const RAW: u64 = 2;
const XOR: u64 = 3;

const STORED: u8 = 0;
const LZ4: u8 = 1;

/// What a pack says of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageForm<'a> {
    /// It is as in the image; a page beyond it, or of a file, is zero.
    Pristine,
    /// It is zero.
    Zero,
    /// It has these bytes.
    Raw(&'a PageBytes),
    /// It has these bytes, exclusive or those of the image.
    Xor(&'a PageBytes),
}

/// Writes frames.
pub(crate) struct FrameWriter {
    output: PackWriter,
    /// The entries of the present frame, and their number.
    entries: PackWriter,
    count: u8,
    /// The bytes of its pages.
    bytes: Vec<u8>,
    /// The lowest number that the next page can have.
    next: u64,
    pages: u64,
    compressed: Vec<u8>,
    table: CompressTable,
}

impl fmt::Debug for FrameWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameWriter").field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl FrameWriter {
    pub(crate) fn new() -> Self {
        Self {
            output: PackWriter::default(),
            entries: PackWriter::default(),
            count: 0,
            bytes: Vec::with_capacity(FRAME),
            next: 0,
            pages: 0,
            compressed: vec![0; get_maximum_output_size(FRAME)],
            table: CompressTable::large(),
        }
    }

    /// Describes the page of that number. Numbers ascend. `pristine` is the page of the image; `None`
    /// beyond its end, and for files.
    pub(crate) fn add(&mut self, page: u64, bytes: &PageBytes, pristine: Option<&PageBytes>) {
        if bytes == pristine.unwrap_or(&ZEROS) {
            self.add_pristine(page);
        } else if *bytes == ZEROS {
            self.entry(page, ZERO);
        } else {
            let kind = match pristine {
                Some(pristine) if equal_bytes(bytes, pristine) >= equal_bytes(bytes, &ZEROS) => {
                    self.bytes.extend(bytes.iter().zip(pristine).map(|(one, other)| one ^ other));
                    XOR
                }
                _ => {
                    self.bytes.extend_from_slice(bytes);
                    RAW
                }
            };
            self.entry(page, kind);
        }
    }

    /// Says that a page is as in the image again.
    pub(crate) fn add_pristine(&mut self, page: u64) {
        self.entry(page, PRISTINE);
    }

    fn entry(&mut self, page: u64, kind: u64) {
        let gap = page.saturating_sub(self.next);
        self.next = page.saturating_add(1);
        self.entries.number(gap << KIND_BITS | kind);
        self.count = self.count.saturating_add(1);
        self.pages = self.pages.saturating_add(1);
        if usize::from(self.count) >= IN_FRAME {
            self.end_frame();
        }
    }

    fn end_frame(&mut self) {
        if self.count == 0 {
            return;
        }
        self.output.byte(self.count);
        self.output.raw(self.entries.as_slice());
        if !self.bytes.is_empty() {
            let length =
                compress_into_with_table(&self.bytes, &mut self.compressed, &mut self.table);
            let compressed = length.ok().and_then(|length| self.compressed.get(..length));
            match compressed.filter(|compressed| compressed.len() < self.bytes.len()) {
                Some(compressed) => {
                    self.output.byte(LZ4);
                    self.output.count(compressed.len());
                    self.output.raw(compressed);
                }
                None => {
                    self.output.byte(STORED);
                    self.output.raw(&self.bytes);
                }
            }
        }
        self.count = 0;
        self.entries.clear();
        self.bytes.clear();
    }

    /// The number of pages so far.
    pub(crate) const fn pages(&self) -> u64 {
        self.pages
    }

    /// The frames, and the number of pages in them.
    pub(crate) fn finish(mut self) -> (Vec<u8>, u64) {
        self.end_frame();
        (self.output.into_bytes(), self.pages)
    }
}

/// The number of bytes in which two pages are the same.
fn equal_bytes(one: &PageBytes, other: &PageBytes) -> usize {
    // Each count of 128 fits the byte that it is added up in, so that many are counted at a time.
    let parts = one.as_chunks::<128>().0.iter().zip(other.as_chunks::<128>().0);
    parts
        .map(|(one, other)| {
            let equal = one.iter().zip(other).map(|(one, other)| u8::from(one == other));
            usize::from(equal.fold(0_u8, u8::wrapping_add))
        })
        .sum()
}

/// Reads frames.
#[derive(Debug)]
pub(crate) struct FrameReader<'a> {
    input: PackReader<'a>,
    /// The lowest number that the next page can have.
    next: u64,
    /// Numbers are below this.
    end: u64,
}

/// One frame, whose bytes were not looked at.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    entries: Vec<(u64, u64)>,
    is_compressed: bool,
    bytes: &'a [u8],
    fault: PackError,
}

/// Memory for the bytes of one frame.
pub(crate) struct FrameRoom(Box<[PageBytes; IN_FRAME]>);

impl FrameRoom {
    pub(crate) fn new() -> Self {
        Self(Box::new([ZEROS; IN_FRAME]))
    }
}

impl fmt::Debug for FrameRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameRoom").finish_non_exhaustive()
    }
}

impl<'a> FrameReader<'a> {
    /// Reads the frames of pages below `end`.
    pub(crate) const fn new(input: PackReader<'a>, end: u64) -> Self {
        Self { input, next: 0, end }
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    ///
    /// It is malformed: among others its pages do not ascend, or lie beyond the end.
    pub(crate) fn frame(&mut self) -> Result<Option<Frame<'a>>, PackError> {
        let input = &mut self.input;
        if input.is_empty() {
            return Ok(None);
        }
        let count = usize::from(input.byte()?);
        if !(1..=IN_FRAME).contains(&count) {
            return Err(input.fault());
        }
        let mut entries = Vec::with_capacity(count);
        let mut with_bytes = 0_usize;
        for _ in 0..count {
            let entry = input.number()?;
            let page = self.next.checked_add(entry >> KIND_BITS).filter(|page| *page < self.end);
            let page = page.ok_or_else(|| input.fault())?;
            self.next = page.saturating_add(1);
            let kind = entry & XOR;
            with_bytes = with_bytes.saturating_add(usize::from(kind == RAW || kind == XOR));
            entries.push((page, kind));
        }
        let whole = with_bytes.saturating_mul(PAGE);
        let (is_compressed, bytes) = match whole {
            0 => (false, &[][..]),
            _ => match input.byte()? {
                STORED => (false, input.raw(whole)?),
                LZ4 => {
                    let length = input.count(1)?;
                    (true, input.raw(length)?)
                }
                _ => return Err(input.fault()),
            },
        };
        Ok(Some(Frame { entries, is_compressed, bytes, fault: input.fault() }))
    }
}

impl Frame<'_> {
    /// The number of its pages.
    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.entries.len()).unwrap_or(u64::MAX)
    }

    /// The numbers of its pages.
    pub(crate) fn pages(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().map(|(page, _)| *page)
    }

    /// The numbers of its pages that are not as in the image.
    pub(crate) fn changed(&self) -> impl Iterator<Item = u64> {
        self.entries.iter().filter(|(_, kind)| *kind != PRISTINE).map(|(page, _)| *page)
    }

    /// Calls `visit` with each page.
    ///
    /// # Errors
    ///
    /// The bytes cannot be decompressed, or are of another length; and those of `visit`.
    pub(crate) fn unpack(
        &self,
        room: &mut FrameRoom,
        visit: &mut dyn FnMut(u64, PageForm<'_>) -> Result<(), PackError>,
    ) -> Result<(), PackError> {
        let has_bytes = |kind: &u64| matches!(*kind, RAW | XOR);
        let count = self.entries.iter().filter(|(_, kind)| has_bytes(kind)).count();
        let pages = if self.is_compressed {
            let FrameRoom(room) = room;
            let pages = room.get_mut(..count).unwrap_or_default();
            let length = decompress_into(self.bytes, pages.as_flattened_mut());
            if length.ok() != Some(pages.as_flattened().len()) {
                return Err(self.fault.clone());
            }
            &*pages
        } else {
            self.bytes.as_chunks::<PAGE>().0
        };
        let mut pages = pages.iter();
        for (page, kind) in &self.entries {
            let described = match *kind {
                PRISTINE => PageForm::Pristine,
                ZERO => PageForm::Zero,
                kind => match pages.next() {
                    Some(bytes) if kind == RAW => PageForm::Raw(bytes),
                    Some(bytes) => PageForm::Xor(bytes),
                    None => return Err(self.fault.clone()),
                },
            };
            visit(*page, described)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A page of a program: of few bytes that differ from those of the image, or of many.
    fn page() -> impl Strategy<Value = PageBytes> {
        let sparse = prop::collection::vec((0..PAGE, any::<u8>()), 0..20);
        (any::<u8>(), prop::sample::select(vec![0_u8, 1, 7]), sparse).prop_map(
            |(start, step, changes)| {
                let mut byte = start;
                let mut page = [0; PAGE];
                for place in &mut page {
                    byte = byte.wrapping_mul(step).wrapping_add(step);
                    *place = byte;
                }
                for (at, byte) in changes {
                    page[at] = byte;
                }
                page
            },
        )
    }

    type Pages = Vec<(u64, PageBytes, Option<PageBytes>)>;

    fn pages() -> impl Strategy<Value = Pages> {
        let gap = prop_oneof![4 => Just(0_u64), 1 => 0..100_000_u64];
        let one = (gap, page(), prop::option::of(page()), any::<bool>());
        prop::collection::vec(one, 0..50).prop_map(|all| {
            let mut next = 0;
            let place = |(gap, bytes, pristine, is_same): (u64, _, Option<PageBytes>, bool)| {
                let page = next + gap;
                next = page + 1;
                let bytes = pristine.filter(|_| is_same).unwrap_or(bytes);
                (page, bytes, pristine)
            };
            all.into_iter().map(place).collect()
        })
    }

    fn written(pages: &Pages) -> Vec<u8> {
        let mut writer = FrameWriter::new();
        for (page, bytes, pristine) in pages {
            writer.add(*page, bytes, pristine.as_ref());
        }
        let (frames, count) = writer.finish();
        assert_eq!(count, u64::try_from(pages.len()).unwrap());
        frames
    }

    /// All pages that frames describe, as they are on these pages of an image.
    #[expect(
        clippy::panic_in_result_fn,
        reason = "errors are the result, and wrong ones a failed test"
    )]
    fn read(frames: &[u8], end: u64, images: &Pages) -> Result<Vec<(u64, PageBytes)>, PackError> {
        let mut reader = FrameReader::new(PackReader::new(frames, "x"), end);
        let (mut found, mut room) = (Vec::new(), FrameRoom::new());
        while let Some(frame) = reader.frame()? {
            let mut numbers = frame.pages();
            frame.unpack(&mut room, &mut |page, described| {
                assert_eq!(numbers.next(), Some(page));
                let image = images.iter().find(|(at, ..)| *at == page);
                let image = image.and_then(|(.., image)| *image).unwrap_or(ZEROS);
                found.push((
                    page,
                    match described {
                        PageForm::Pristine => image,
                        PageForm::Zero => ZEROS,
                        PageForm::Raw(bytes) => *bytes,
                        PageForm::Xor(bytes) => std::array::from_fn(|at| bytes[at] ^ image[at]),
                    },
                ));
                Ok(())
            })?;
        }
        Ok(found)
    }

    #[test]
    fn pages_of_zeros_have_no_bytes() {
        let mut writer = FrameWriter::new();
        for page in 0..500 {
            writer.add(page, &ZEROS, Some(&[7; PAGE]));
        }
        for page in 500..1_000 {
            writer.add(page, &ZEROS, None);
        }
        let (frames, pages) = writer.finish();
        assert_eq!(pages, 1_000);
        assert!(frames.len() < 1_100, "{} bytes for 1,000 pages", frames.len());
    }

    proptest! {
        #[test]
        fn pages_come_back_as_they_were(pages in pages()) {
            let frames = written(&pages);
            let end = pages.last().map_or(0, |(page, ..)| page + 1);
            let expected: Vec<_> = pages.iter().map(|(page, bytes, _)| (*page, *bytes)).collect();
            prop_assert_eq!(read(&frames, end, &pages).unwrap(), expected);
            if end > 0 {
                prop_assert!(read(&frames, end - 1, &pages).is_err(), "a page beyond the end");
                let cut = read(&frames[..frames.len() - 1], end, &pages);
                prop_assert!(cut.is_err(), "the last byte is missing");
            }
        }

        #[test]
        fn bounded_packs_give_no_more_than_whole_pages(
            pages in pages(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
        ) {
            let mut frames = written(&pages);
            for (at, byte) in changes {
                if !frames.is_empty() {
                    let at = at.index(frames.len());
                    frames[at] = byte;
                }
            }
            if let Ok(found) = read(&frames, 1 << 20, &pages) {
                prop_assert!(found.is_sorted_by(|one, next| one.0 < next.0));
                prop_assert!(found.len() <= 16 * frames.len());
            }
        }

        #[test]
        fn bytes_that_are_equal_are_counted(one in page(), other in page()) {
            let expected = one.iter().zip(&other).filter(|(one, other)| one == other).count();
            prop_assert_eq!(equal_bytes(&one, &other), expected);
        }
    }

    #[test]
    fn changes_of_an_image_take_little_room() {
        let image: PageBytes = std::array::from_fn(|at| u8::try_from(at * at % 251).unwrap());
        let mut changed = image;
        changed[8] ^= 3;
        changed[2000] ^= 1;
        let described = |pages: &[PageBytes]| {
            let pages = pages.iter().zip(0..).map(|(page, at)| (at, *page, Some(image))).collect();
            written(&pages).len()
        };
        assert_eq!(described(&[image; 16]), 1 + 16);
        assert_eq!(described(&[ZEROS; 16]), 1 + 16);
        assert!(described(&[changed; 16]) < 16 * 40, "{}", described(&[changed; 16]));
        let mut state = 1_u32;
        let noise: PageBytes = std::array::from_fn(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u8::try_from(state >> 24).unwrap()
        });
        assert_eq!(described(&[noise]), 1 + 1 + 1 + PAGE, "what cannot be compressed is stored");
    }

    #[test]
    fn a_frame_of_the_wrong_length_is_refused() {
        // One raw page, compressed from another number of bytes.
        for (length, is_right) in [(PAGE, true), (PAGE - 1, false), (PAGE + 1, false), (0, false)] {
            let mut bytes = vec![0; get_maximum_output_size(length)];
            let (plain, mut table) = (vec![7; length], CompressTable::large());
            let compressed = compress_into_with_table(&plain, &mut bytes, &mut table).unwrap();
            bytes.truncate(compressed);
            let mut frames = PackWriter::default();
            frames.byte(1);
            frames.number(RAW);
            frames.byte(LZ4);
            frames.count(bytes.len());
            frames.raw(&bytes);
            let found = read(frames.as_slice(), 1, &Vec::new());
            assert_eq!(found.is_ok(), is_right, "{length}");
        }
        for malformed in [&[0][..], &[17], &[1, 2], &[1, 2, 2], &[1, 2, 1, 0], &[1]] {
            assert!(read(malformed, 9, &Vec::new()).is_err(), "{malformed:?}");
        }
    }
}
