//! Which pages differ from their base, and what has changed since the last list was made.

use sha2::{Digest as _, Sha256};

use crate::memory::{PAGE, PageBytes};
use crate::session::pages::frame::FrameWriter;
use crate::session::pages::hash::PageHash;

const ZEROS: PageBytes = [0; PAGE];

/// The pages that differ from their base, by number. The base of memory is its image, that of a file
/// is zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageList {
    pages: Vec<(u32, PageHash)>,
}

impl PageList {
    /// A list of pages in any order, each named once.
    pub(crate) fn of(mut pages: Vec<(u32, PageHash)>) -> Self {
        pages.sort_unstable_by_key(|(page, _)| *page);
        Self { pages }
    }

    /// The number of the pages.
    pub(crate) const fn len(&self) -> usize {
        self.pages.len()
    }

    /// Adds the numbers and hashes of all pages below `end` to a digest.
    pub(crate) fn digest_into(&self, digest: &mut Sha256, end: u32) {
        let pages = self.pages.iter().take_while(|(page, _)| *page < end);
        // One long text is hashed faster than many short ones.
        let text: Vec<u8> = pages
            .flat_map(|(page, hash)| page.to_le_bytes().into_iter().chain(*hash.as_bytes()))
            .collect();
        digest.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        digest.update(text);
    }
}

/// Compares pages with those of the state before, and writes what has changed.
#[derive(Debug)]
pub(crate) struct Comparison<'a> {
    before: std::vec::IntoIter<(u32, PageHash)>,
    now: Vec<(u32, PageHash)>,
    writer: &'a mut FrameWriter,
    /// The number of page 0 in the frames.
    first: u64,
    end: u32,
}

impl<'a> Comparison<'a> {
    /// A comparison of pages below `end`. Pages of the state before from there on are out of reach:
    /// they are kept as they were last written.
    pub(crate) fn new(before: PageList, writer: &'a mut FrameWriter, first: u64, end: u32) -> Self {
        let before = before.pages.into_iter();
        Self { before, now: Vec::new(), writer, first, end }
    }

    /// The next page that may differ from its base. They ascend, and none that differs is left out. Returns
    /// whether it does.
    pub(crate) fn page(&mut self, page: u32, bytes: &PageBytes, base: Option<&PageBytes>) -> bool {
        self.restore_below(page);
        let before = self.before.as_slice().first().filter(|(before, _)| *before == page).copied();
        if before.is_some() {
            // Most pages are as they were: looking at their hash alone is the shortest way to know.
            self.before.next();
        } else if *bytes == *base.unwrap_or(&ZEROS) {
            return false;
        }
        let hash = PageHash::of(bytes);
        if before != Some((page, hash)) {
            let number = self.first.saturating_add(page.into());
            if before.is_some() && *bytes == *base.unwrap_or(&ZEROS) {
                self.writer.add_pristine(number);
                return false;
            }
            self.writer.add(number, bytes, base);
        }
        self.now.push((page, hash));
        true
    }

    /// Pages of the state before that did not come are as in their base again.
    fn restore_below(&mut self, page: u32) {
        while let Some((before, _)) = self.before.as_slice().first().filter(|it| it.0 < page) {
            self.writer.add_pristine(self.first.saturating_add((*before).into()));
            self.before.next();
        }
    }

    /// The list of the present state.
    pub(crate) fn finish(mut self) -> PageList {
        self.restore_below(self.end);
        self.now.extend(self.before);
        PageList { pages: self.now }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::session::pack::reader::PackReader;
    use crate::session::pages::frame::{FrameReader, FrameRoom, PageForm};

    const END: u32 = 12;

    fn page(byte: u8) -> PageBytes {
        [byte; PAGE]
    }

    /// Sizes and pages of a file, one state after another. Zero is the base.
    fn states() -> impl Strategy<Value = Vec<(u32, BTreeMap<u32, u8>)>> {
        let pages = prop::collection::btree_map(0..END, 0..3_u8, 0..10);
        let state = (0..=END, pages).prop_map(|(end, mut pages)| {
            pages.retain(|page, _| *page < end);
            (end, pages)
        });
        prop::collection::vec(state, 1..9)
    }

    proptest! {
        /// The newest description of each page is right, whatever the length was in between.
        #[test]
        fn the_newest_description_of_a_page_is_its_state(states in states()) {
            let (mut list, mut newest) = (PageList::default(), BTreeMap::new());
            for (end, pages) in states {
                let mut writer = FrameWriter::new();
                let mut comparison = Comparison::new(list, &mut writer, 5, end);
                for (number, byte) in &pages {
                    comparison.page(*number, &page(*byte), None);
                }
                list = comparison.finish();
                let (frames, _) = writer.finish();
                let mut reader = FrameReader::new(PackReader::new(&frames, "x"), 5 + u64::from(end));
                while let Some(frame) = reader.frame().unwrap() {
                    frame.unpack(&mut FrameRoom::new(), &mut |number, described| {
                        newest.insert(u32::try_from(number - 5).unwrap(), match described {
                            PageForm::Raw(bytes) => bytes[0],
                            _ => 0,
                        });
                        Ok(())
                    }).unwrap();
                }
                for number in 0..end {
                    let expected = pages.get(&number).copied().unwrap_or(0);
                    let found = newest.get(&number).copied().unwrap_or(0);
                    prop_assert_eq!(found, expected, "page {} of {}", number, end);
                }
            }
        }
    }

    #[test]
    fn what_did_not_change_is_not_written() {
        let compare = |before: PageList, bytes: &[(u32, u8)]| {
            let mut writer = FrameWriter::new();
            let mut comparison = Comparison::new(before, &mut writer, 0, END);
            for (number, byte) in bytes {
                comparison.page(*number, &page(*byte), None);
            }
            let list = comparison.finish();
            (list, writer.finish().1)
        };
        let (list, written) = compare(PageList::default(), &[(1, 1), (2, 2), (7, 7)]);
        assert_eq!(written, 3);
        let (list, written) = compare(list, &[(1, 1), (2, 2), (7, 7)]);
        assert_eq!(written, 0);
        let (list, written) = compare(list, &[(2, 3), (7, 7)]);
        assert_eq!(written, 2, "one is as in the base again, and one has changed");
        let digest = |list: &PageList, end| {
            let mut digest = Sha256::new();
            list.digest_into(&mut digest, end);
            digest.finalize()
        };
        let same = PageList::of(vec![(7, PageHash::of(&page(7))), (2, PageHash::of(&page(3)))]);
        assert_eq!(list, same);
        assert_eq!(digest(&list, END), digest(&same, END));
        assert_ne!(digest(&list, END), digest(&list, 7));
    }
}
