//! The pages of files in packs.
//!
//! ```text
//!           number of files
//!           each: the difference of its number to that of the one before, and its length in pages
//!           frames, in which the pages of these files are numbered one file after another
//! ```
//!
//! File 0 is the tree of files itself, which is packed like a file: so a large tree that has changed a
//! little is a few pages.

use std::collections::{BTreeMap, HashSet};
use std::io;

use sha2::{Digest as _, Sha256};

use crate::memory::{PAGE, PageBytes};
use crate::session::error::PackError;
use crate::session::pack::reader::PackReader;
use crate::session::pack::writer::PackWriter;
use crate::session::pages::frame::{FrameReader, FrameRoom, FrameWriter, PageForm};
use crate::session::pages::hash::PageHash;
use crate::session::pages::list::{Comparison, PageList};
use crate::vfs::parked::{Inode, StoredBytes};
use wardian_vocabulary::ids::Digest;

/// The number of the tree among files. Numbers of nodes begin with 1.
pub(crate) const TREE: Inode = 0;

const ZEROS: PageBytes = [0; PAGE];

/// The pages of all files that are not zero.
#[derive(Debug, Default)]
pub(crate) struct FilePages {
    files: BTreeMap<Inode, StoredPages>,
}

/// The pages of one file.
#[derive(Debug)]
struct StoredPages {
    /// What the file's count of changes was.
    edits: u64,
    pages: PageList,
    /// The digest of the pages within the file.
    digest: Digest,
}

impl FilePages {
    /// The number of pages of all files.
    pub(crate) fn len(&self) -> usize {
        self.files.values().map(|stored| stored.pages.len()).sum()
    }

    /// Adds the numbers and digests of all files to a digest.
    pub(crate) fn digest_into(&self, digest: &mut Sha256) {
        for (inode, StoredPages { digest: of_pages, .. }) in &self.files {
            digest.update(inode.to_le_bytes());
            digest.update(of_pages.as_bytes());
        }
    }
}

/// The pages of files that have changed, and those of all files.
#[derive(Debug)]
pub(crate) struct PackedContents {
    pub(crate) bytes: Vec<u8>,
    pub(crate) count: u64,
    pub(crate) pages: FilePages,
}

/// The number of pages of a file.
fn pages_in(size: u64) -> u32 {
    let page = u64::try_from(PAGE).unwrap_or(u64::MAX);
    u32::try_from(size.div_ceil(page)).unwrap_or(u32::MAX)
}

fn offset_of(page: u32) -> u64 {
    u64::from(page).saturating_mul(u64::try_from(PAGE).unwrap_or(u64::MAX))
}

/// Writes the pages of files.
struct ContentsWriter {
    table: PackWriter,
    listed: usize,
    last: Inode,
    frames: FrameWriter,
    /// The number of the next file's first page.
    first: u64,
}

impl ContentsWriter {
    /// Writes the changed pages of one file. `pages` calls with all that are not zero, in order.
    fn file(
        &mut self,
        inode: Inode,
        size: u64,
        before: PageList,
        pages: impl FnOnce(&mut dyn FnMut(u32, &PageBytes)) -> io::Result<()>,
    ) -> io::Result<(PageList, Digest)> {
        let (end, written) = (pages_in(size), self.frames.pages());
        let mut comparison = Comparison::new(before, &mut self.frames, self.first, end);
        pages(&mut |page, bytes| {
            comparison.page(page, bytes, None);
        })?;
        let list = comparison.finish();
        if self.frames.pages() > written {
            self.table.number(inode.saturating_sub(self.last));
            self.table.number(end.into());
            self.last = inode;
            self.listed = self.listed.saturating_add(1);
            self.first = self.first.saturating_add(end.into());
        }
        let mut digest = Sha256::new();
        list.digest_into(&mut digest, end);
        Ok((list, Digest::from_bytes(digest.finalize().into())))
    }

    fn finish(self) -> (Vec<u8>, u64) {
        let (frames, count) = self.frames.finish();
        let mut output = PackWriter::default();
        output.count(self.listed);
        output.raw(self.table.as_slice());
        output.raw(&frames);
        (output.into_bytes(), count)
    }
}

/// Packs the pages of the tree and of `files` that have changed since the lists `before` were made.
///
/// # Errors
///
/// A mounted file cannot be read.
pub(crate) fn pack_contents(
    tree: &[u8],
    files: &[(Inode, StoredBytes<'_>)],
    mut before: FilePages,
) -> io::Result<PackedContents> {
    let (table, frames) = (PackWriter::default(), FrameWriter::new());
    let mut writer = ContentsWriter { table, listed: 0, last: 0, frames, first: 0 };
    let mut pages = FilePages::default();
    let mut list_before = |inode| before.files.remove(&inode);

    let size = u64::try_from(tree.len()).unwrap_or(u64::MAX);
    let tree_before = list_before(TREE).map(|stored| stored.pages).unwrap_or_default();
    let (list, digest) = writer.file(TREE, size, tree_before, |visit| {
        for (page, bytes) in (0..).zip(tree.chunks(PAGE)) {
            let mut whole = ZEROS;
            whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            visit_unless_zero(page, &whole, visit);
        }
        Ok(())
    })?;
    pages.files.insert(TREE, StoredPages { edits: 0, pages: list, digest });

    for (inode, bytes) in files {
        let (size, edits) = (bytes.size(), bytes.edits());
        let stored = match list_before(*inode) {
            Some(stored) if stored.edits == edits => stored,
            stored => {
                let before = stored.map(|stored| stored.pages).unwrap_or_default();
                let (pages, digest) =
                    writer.file(*inode, size, before, |visit| visit_pages(bytes, visit))?;
                StoredPages { edits, pages, digest }
            }
        };
        pages.files.insert(*inode, stored);
    }
    let (bytes, count) = writer.finish();
    Ok(PackedContents { bytes, count, pages })
}

/// Calls `visit` with the pages of a file that are not zero.
fn visit_pages(file: &StoredBytes<'_>, visit: &mut dyn FnMut(u32, &PageBytes)) -> io::Result<()> {
    for range in file.filled() {
        let end = pages_in(range.end);
        let first = u32::try_from(range.start / offset_of(1)).unwrap_or(u32::MAX);
        for page in first..end {
            let mut bytes = ZEROS;
            file.read_at(offset_of(page), &mut bytes)?;
            visit_unless_zero(page, &bytes, visit);
        }
    }
    Ok(())
}

fn visit_unless_zero(page: u32, bytes: &PageBytes, visit: &mut dyn FnMut(u32, &PageBytes)) {
    if *bytes != ZEROS {
        visit(page, bytes);
    }
}

/// The pages of files in one pack.
#[derive(Debug)]
struct ContentsReader<'a> {
    table: PackReader<'a>,
    left: usize,
    /// The present file, the number of its first page, and that of the page after its last.
    inode: Inode,
    first: u64,
    end: u64,
    frames: FrameReader<'a>,
}

impl<'a> ContentsReader<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, PackError> {
        let mut input = PackReader::new(bytes, "its pages of files are malformed");
        let left = input.count(2)?;
        let table = input.clone();
        let mut all = 0_u64;
        for _ in 0..left {
            input.number()?;
            all = all.checked_add(input.small()?.into()).ok_or_else(|| input.fault())?;
        }
        let frames = FrameReader::new(input, all);
        Ok(Self { table, left, inode: 0, first: 0, end: 0, frames })
    }

    /// The file and the place in it of the page with this number. Numbers ascend from call to call.
    fn place_of(&mut self, page: u64) -> Result<(Inode, u32), PackError> {
        while page >= self.end {
            self.left = self.left.checked_sub(1).ok_or_else(|| self.table.fault())?;
            let inode = self.inode.checked_add(self.table.number()?);
            self.inode = inode.ok_or_else(|| self.table.fault())?;
            self.first = self.end;
            self.end = self.first.saturating_add(self.table.small()?.into());
        }
        let within = u32::try_from(page.saturating_sub(self.first));
        Ok((self.inode, within.ok().ok_or_else(|| self.table.fault())?))
    }
}

/// Reads the pages of files from the packs of a chain.
#[derive(Debug)]
pub(crate) struct ContentsUnpacker<'a> {
    /// The pages of files in each pack, the newest first.
    parts: &'a [&'a [u8]],
    /// Most pages that one pack may describe.
    most: u64,
    room: FrameRoom,
}

/// Takes the newest state of a page within a file: `None` for zeros.
pub(crate) type TakePage<'a> =
    &'a mut dyn FnMut(Inode, u32, Option<&PageBytes>) -> Result<(), PackError>;

/// What the packs of a chain have of files.
#[derive(Debug, Default)]
struct Newest {
    /// The pages that are not zero, each in its newest state.
    pages: BTreeMap<Inode, Vec<(u32, PageHash)>>,
    /// The number of pages that each pack describes.
    counts: Vec<u64>,
}

impl Newest {
    /// Notes the page at a place that is wanted and that no later pack describes, and hands it on.
    fn note(
        &mut self,
        place: Option<(Inode, u32)>,
        described: PageForm<'_>,
        take: TakePage<'_>,
        fault: &PackError,
    ) -> Result<(), PackError> {
        let Some((inode, page)) = place else { return Ok(()) };
        match described {
            PageForm::Pristine | PageForm::Zero => take(inode, page, None),
            PageForm::Raw(bytes) => {
                self.pages.entry(inode).or_default().push((page, PageHash::of(bytes)));
                take(inode, page, Some(bytes))
            }
            PageForm::Xor(_) => Err(fault.clone()),
        }
    }
}

impl<'a> ContentsUnpacker<'a> {
    /// A reader of parts, the newest first, each of which may describe `most` pages.
    pub(crate) fn new(parts: &'a [&'a [u8]], most: u64) -> Self {
        Self { parts, most, room: FrameRoom::new() }
    }

    /// The tree, of `size` bytes.
    ///
    /// # Errors
    ///
    /// A part is malformed.
    pub(crate) fn tree(&mut self, size: usize) -> Result<Vec<u8>, PackError> {
        let mut tree = vec![0; size];
        self.newest(TREE, &|inode| inode == TREE, &mut |_, page, bytes| {
            let at = usize::try_from(offset_of(page)).unwrap_or(usize::MAX);
            let place = tree.get_mut(at..).unwrap_or_default();
            if let Some(bytes) = bytes {
                place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            }
            Ok(())
        })?;
        Ok(tree)
    }

    /// Calls `take` with the pages within files of these sizes, the tree among them, and returns the
    /// pages of all of them, and how many pages each pack describes.
    ///
    /// # Errors
    ///
    /// A part is malformed, and the errors of `take`.
    pub(crate) fn files(
        &mut self,
        sizes: &BTreeMap<Inode, u64>,
        take: TakePage<'_>,
    ) -> Result<(FilePages, Vec<u64>), PackError> {
        let wants = |inode| sizes.contains_key(&inode);
        let newest = self.newest(Inode::MAX, &wants, &mut |inode, page, bytes| {
            let end = sizes.get(&inode).map_or(0, |size| pages_in(*size));
            // A file may have been longer, and be so again.
            if page < end { take(inode, page, bytes) } else { Ok(()) }
        })?;
        let Newest { mut pages, counts } = newest;
        let mut files = FilePages::default();
        for (inode, size) in sizes {
            let pages = PageList::of(pages.remove(inode).unwrap_or_default());
            let mut digest = Sha256::new();
            pages.digest_into(&mut digest, pages_in(*size));
            let digest = Digest::from_bytes(digest.finalize().into());
            // A file that was made from a pack has no changes yet.
            files.files.insert(*inode, StoredPages { edits: 0, pages, digest });
        }
        Ok((files, counts))
    }

    /// Calls `take` with the newest state of each page of the files that are wanted. Reads no further
    /// than file `last`.
    fn newest(
        &mut self,
        last: Inode,
        wants: &dyn Fn(Inode) -> bool,
        take: TakePage<'_>,
    ) -> Result<Newest, PackError> {
        let (mut seen, mut newest) = (HashSet::new(), Newest::default());
        for part in self.parts {
            let mut reader = ContentsReader::open(part)?;
            let fault = reader.table.fault();
            let mut count = 0_u64;
            while let Some(frame) = reader.frames.frame()? {
                count = count.saturating_add(frame.count());
                let places = frame.pages().map(|page| reader.place_of(page));
                let places = places.collect::<Result<Vec<_>, _>>()?;
                if count > self.most {
                    return Err(fault);
                }
                if places.first().is_some_and(|(inode, _)| *inode > last) {
                    break;
                }
                let is_new = |place: &(Inode, u32)| wants(place.0) && !seen.contains(place);
                if !places.iter().any(is_new) {
                    continue;
                }
                let mut places = places.into_iter();
                frame.unpack(&mut self.room, &mut |_, described| {
                    let place = places.next().ok_or_else(|| fault.clone())?;
                    let is_newest = wants(place.0) && seen.insert(place);
                    newest.note(is_newest.then_some(place), described, take, &fault)
                })?;
            }
            newest.counts.push(count);
        }
        Ok(newest)
    }
}
