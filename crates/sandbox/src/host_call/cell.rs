//! The requests of a cell: what it displays, that it was reseeded, and what it asks of its caller.
//!
//! The host decides what is text within the outcome and what is a blob, so a guest cannot name blobs
//! that are not its own, and nothing that it displays takes more than its bound.

use std::fmt;

use wardian_formats::job::message::Refusal;
use wardian_formats::job::session::asking::CallerRequests;
use wardian_formats::job::session::cell::{
    CellOrder, CellOutcome, DisplayBundle, MAX_BUNDLES, MAX_INLINE_TOTAL, MAX_PARTS, is_part_kind,
};

/// A request of a cell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CellRequest<'a> {
    /// Display an object.
    Show {
        /// The bundle that it replaces; a new one otherwise.
        at: Option<usize>,
        /// Its forms: at least one, at most [`MAX_PARTS`].
        parts: Vec<ShownPart<'a>>,
    },
    /// Forget what the cell has displayed.
    Clear,
    /// The guest's randomness has become another one.
    Reseeded,
    /// The turn ends, and the cell goes on with answers to these requests; JSON text.
    Waits(&'a [u8]),
    /// The same in the middle of a call, which is answered with the answers.
    Asks(&'a [u8]),
    /// The program can only go on with answers to these requests, and its turn has not ended yet; JSON text.
    AsksSoon(&'a [u8]),
    /// The program goes on, and will wait for the answer to this request; JSON text.
    Tells(&'a str),
    /// The program sees no interrupt from now on: its turn ends.
    Rests,
}

/// A form of an object as the guest sends it.
#[derive(PartialEq, Eq)]
pub(crate) struct ShownPart<'a> {
    /// Its MIME type.
    pub(crate) kind: &'a str,
    pub(crate) content: ShownContent<'a>,
}

/// The content of a form.
#[derive(PartialEq, Eq)]
pub(crate) enum ShownContent<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// Prints no content: it is the program's.
impl fmt::Debug for ShownPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShownPart").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// The number of a bundle that is none yet.
const NEW: u32 = u32::MAX;

impl<'a> CellRequest<'a> {
    /// Reads a request; none if it is malformed.
    pub(crate) fn parse(payload: &'a [u8]) -> Option<Self> {
        let (kind, rest) = payload.split_first()?;
        match kind {
            0 => {
                let (at, rest) = rest.split_first_chunk::<4>()?;
                let (count, mut rest) = rest.split_first()?;
                let at = u32::from_le_bytes(*at);
                let at = (at != NEW).then(|| usize::try_from(at).ok()).flatten();
                let count = usize::from(*count);
                if !(1..=MAX_PARTS).contains(&count) {
                    return None;
                }
                let mut parts = Vec::with_capacity(count);
                for _ in 0..count {
                    let (part, later) = ShownPart::parse(rest)?;
                    parts.push(part);
                    rest = later;
                }
                rest.is_empty().then_some(Self::Show { at, parts })
            }
            1 if rest.is_empty() => Some(Self::Clear),
            2 if rest.is_empty() => Some(Self::Reseeded),
            3 => Some(Self::Waits(rest)),
            4 => Some(Self::Asks(rest)),
            5 => std::str::from_utf8(rest).ok().map(Self::Tells),
            6 => Some(Self::AsksSoon(rest)),
            7 if rest.is_empty() => Some(Self::Rests),
            _ => None,
        }
    }
}

impl<'a> ShownPart<'a> {
    /// A part, and what comes behind it.
    fn parse(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (is_text, rest) = bytes.split_first()?;
        let (kind, rest) = rest.split_first_chunk::<2>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (kind, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*kind)))?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (content, rest) = rest.split_at_checked(length)?;
        let kind = std::str::from_utf8(kind).ok().filter(|kind| is_part_kind(kind))?;
        let content = match is_text {
            0 => ShownContent::Bytes(content),
            1 => ShownContent::Text(std::str::from_utf8(content).ok()?),
            _ => return None,
        };
        Some((Self { kind, content }, rest))
    }
}

/// What the host keeps of a cell while it runs.
#[derive(Debug)]
pub(crate) struct CellAccount {
    /// True if the guest was told to reseed.
    is_to_reseed: bool,
    /// True if the caller hears what is asked, and may answer at once.
    pub(crate) is_heard: bool,
    outcome: CellOutcome,
    /// Bytes that the texts of the outcome take as JSON.
    inline: usize,
}

impl CellAccount {
    pub(crate) fn new(order: &CellOrder) -> Self {
        let CellOrder { reseed: is_to_reseed, is_heard, .. } = *order;
        Self { is_to_reseed, is_heard, outcome: CellOutcome::default(), inline: 0 }
    }

    pub(crate) fn into_outcome(self) -> CellOutcome {
        self.outcome
    }

    /// Forgets what was displayed.
    pub(crate) fn clear(&mut self) {
        self.outcome.display.clear();
        self.inline = 0;
    }

    /// Notes the confirmation of an order to reseed.
    pub(crate) fn note_reseeded(&mut self) {
        self.outcome.reseeded = self.is_to_reseed;
    }

    /// Keeps what the cell asks of its caller.
    pub(crate) fn ask(&mut self, requests: CallerRequests) {
        self.outcome.requests = requests;
    }

    /// Refuses a bundle for which there is no place.
    pub(crate) fn ensure_place(&self, at: Option<usize>) -> Result<(), Refusal> {
        let count = self.outcome.display.len();
        match at {
            Some(at) if at >= count => {
                let message = format!("the cell has displayed {count} objects, and not this one");
                Err(Refusal { error_type: "ValueError".to_owned(), message })
            }
            None if count >= MAX_BUNDLES => {
                let message = format!("a cell can display at most {MAX_BUNDLES} objects");
                Err(Refusal { error_type: "HostCallLimit".to_owned(), message })
            }
            _ => Ok(()),
        }
    }

    /// How many bytes the texts of a bundle can take as JSON. Those of the one that it replaces are free.
    pub(crate) fn inline_room(&self, at: Option<usize>) -> usize {
        let replaced = at.and_then(|at| self.outcome.display.get(at));
        let freed = replaced.map_or(0, DisplayBundle::inline_length);
        MAX_INLINE_TOTAL.saturating_sub(self.inline.saturating_sub(freed))
    }

    /// Keeps a bundle, and returns its number.
    pub(crate) fn put(&mut self, at: Option<usize>, bundle: DisplayBundle) -> usize {
        self.inline = self.inline.saturating_add(bundle.inline_length());
        match at.and_then(|at| Some((at, self.outcome.display.get_mut(at)?))) {
            Some((at, place)) => {
                let replaced = std::mem::replace(place, bundle);
                self.inline = self.inline.saturating_sub(replaced.inline_length());
                at
            }
            None => {
                self.outcome.display.push(bundle);
                self.outcome.display.len().saturating_sub(1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host_call::account::{HostCallAccount, ProgramReport};
    use crate::host_call::show::no_cell;
    use wardian_formats::job::TurnLimits;
    use wardian_formats::job::host::{Host, IsCancelled};
    use wardian_formats::job::session::cell::{DisplayContent, MAX_INLINE};
    use wardian_vocabulary::ids::{BlobId, Digest};

    struct Storing;

    impl Host for Storing {
        fn write_blob(&mut self, kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
            if kind == "image/refused" {
                return Err(no_cell());
            }
            Ok(BlobId::of_digest(&Digest::of(content)))
        }

        fn is_cancelled(&self) -> IsCancelled {
            Box::new(|| false)
        }
    }

    const ROOM: u64 = 1 << 30;

    fn account(calls: u32, reseed: bool) -> HostCallAccount {
        let limits = TurnLimits { host_calls: calls, ..TurnLimits::DEFAULT };
        let order = CellOrder::new(1, reseed);
        HostCallAccount::new(Box::new(Storing), b"{}", &limits).for_cell(Some(&order))
    }

    fn text(text: &str) -> ShownPart<'_> {
        ShownPart { kind: "text/plain", content: ShownContent::Text(text) }
    }

    fn frame(at: u32, parts: &[(u8, &str, &[u8])]) -> Vec<u8> {
        let mut frame = vec![0];
        frame.extend(at.to_le_bytes());
        frame.push(u8::try_from(parts.len()).unwrap());
        for (is_text, kind, content) in parts {
            frame.push(*is_text);
            frame.extend(u16::try_from(kind.len()).unwrap().to_le_bytes());
            frame.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
            frame.extend(kind.as_bytes());
            frame.extend(*content);
        }
        frame
    }

    #[test]
    fn requests_are_parsed() {
        let parts: [(u8, &str, &[u8]); 2] = [(1, "text/html", b"<b>"), (0, "image/png", b"\x89")];
        let picture = ShownPart { kind: "image/png", content: ShownContent::Bytes(b"\x89") };
        let html = ShownPart { kind: "text/html", content: ShownContent::Text("<b>") };
        let expected = CellRequest::Show { at: None, parts: vec![html, picture] };
        assert_eq!(CellRequest::parse(&frame(NEW, &parts)), Some(expected));
        let expected = CellRequest::Show { at: Some(7), parts: vec![text("")] };
        assert_eq!(CellRequest::parse(&frame(7, &[(1, "text/plain", b"")])), Some(expected));
        assert_eq!(CellRequest::parse(&[1]), Some(CellRequest::Clear));
        assert_eq!(CellRequest::parse(&[2]), Some(CellRequest::Reseeded));
        assert_eq!(CellRequest::parse(&[7]), Some(CellRequest::Rests));
        assert_eq!(CellRequest::parse(b"\x03[]"), Some(CellRequest::Waits(b"[]")));
        assert_eq!(CellRequest::parse(b"\x05{}"), Some(CellRequest::Tells("{}")));
        assert_eq!(CellRequest::parse(b"\x06[]"), Some(CellRequest::AsksSoon(b"[]")));
    }

    #[test]
    fn malformed_requests_are_refused() {
        let part: (u8, &str, &[u8]) = (1, "text/plain", b"abc");
        let whole = frame(NEW, &[part]);
        for end in 0..whole.len() {
            assert_eq!(CellRequest::parse(&whole[..end]), None, "{end}");
        }
        for frame in [
            [whole.as_slice(), b"x"].concat(),
            frame(NEW, &[]),
            frame(NEW, &vec![part; MAX_PARTS + 1]),
            frame(NEW, &[(2, "text/plain", b"")]),
            frame(NEW, &[(1, "text/plain", b"\xff")]),
            frame(NEW, &[(1, "no kind", b"")]),
            vec![1, 0],
            vec![2, 0],
            vec![5, 0xff],
            vec![7, 0],
            vec![8],
        ] {
            assert_eq!(CellRequest::parse(&frame), None, "{frame:?}");
        }
        assert!(CellRequest::parse(&frame(NEW, &vec![part; MAX_PARTS])).is_some());
    }

    #[test]
    fn short_texts_are_inline_and_everything_else_is_a_blob() {
        let mut account = account(99, false);
        let long = "x".repeat(MAX_INLINE + 1);
        let picture = ShownPart { kind: "image/png", content: ShownContent::Bytes(b"png") };
        assert_eq!(account.show(None, &[text("a"), picture, text(&long)], ROOM), Ok(0));
        let [bundle]: [DisplayBundle; 1] = account.take_cell().unwrap().display.try_into().unwrap();
        let blob = |content: &[u8]| DisplayContent::Blob(BlobId::of_digest(&Digest::of(content)));
        let contents: Vec<_> = bundle.parts.into_iter().map(|part| part.content).collect();
        let expected = [DisplayContent::Text("a".to_owned()), blob(b"png"), blob(long.as_bytes())];
        assert_eq!(contents, expected);
    }

    #[test]
    fn texts_beyond_the_bound_of_all_are_blobs_until_something_is_replaced() {
        let mut account = account(99, false);
        let long = "x".repeat(MAX_INLINE);
        let most = MAX_INLINE_TOTAL / MAX_INLINE;
        for number in 0..most {
            assert_eq!(account.show(None, &[text(&long)], ROOM), Ok(number));
        }
        assert_eq!(account.show(None, &[text("beyond")], ROOM), Ok(most));
        assert_eq!(account.show(Some(0), &[text("short")], ROOM), Ok(0));
        assert_eq!(account.show(None, &[text("fits")], ROOM), Ok(most + 1));
        let outcome = account.take_cell().unwrap();
        assert!(outcome.is_bounded());
        let is_text =
            |at: usize| matches!(&outcome.display[at].parts[0].content, DisplayContent::Text(_));
        assert_eq!([is_text(0), is_text(most), is_text(most + 1)], [true, false, true]);
    }

    #[test]
    fn bundles_are_few_and_have_their_places() {
        let mut account = account(0, false);
        assert_eq!(account.show(Some(0), &[text("")], ROOM).unwrap_err().error_type, "ValueError");
        for number in 0..MAX_BUNDLES {
            assert_eq!(account.show(None, &[text("first")], ROOM), Ok(number));
        }
        let full = account.show(None, &[text("one more")], ROOM).unwrap_err();
        assert_eq!(full.error_type, "HostCallLimit");
        assert_eq!(account.show(Some(3), &[text("second")], ROOM), Ok(3));
        account.clear_display();
        assert_eq!(account.show(None, &[text("first again")], ROOM), Ok(0));
    }

    #[test]
    fn blobs_count_as_calls_and_a_refused_one_refuses_the_bundle() {
        let mut account = account(1, false);
        let picture = |kind| ShownPart { kind, content: ShownContent::Bytes(b"png") };
        assert!(account.show(None, &[picture("image/refused")], ROOM).is_err());
        let beyond = account.show(None, &[picture("image/png")], ROOM).unwrap_err();
        assert_eq!(beyond.error_type, "HostCallLimit");
        assert!(account.take_cell().unwrap().display.is_empty());
    }

    #[test]
    fn a_turn_that_is_no_cell_displays_nothing() {
        let mut account = HostCallAccount::new(Box::new(Storing), b"{}", &TurnLimits::DEFAULT);
        assert_eq!(account.show(None, &[text("a")], ROOM).unwrap_err().error_type, "PolicyDenied");
        account.note_reseeded();
        assert_eq!(account.take_cell(), None);
    }

    #[test]
    fn requests_of_a_cell_are_its_report_and_what_cannot_be_read_is_none() {
        let asked = br#"[{"number":1,"tool":{"name":"f","arguments":{}}}]"#;
        let mut asking = account(9, false);
        assert_eq!(asking.waits(asked), [0]);
        assert!(matches!(asking.take_report().0, Some(ProgramReport::Waits)));
        assert_eq!(asking.take_cell().unwrap().requests.all[0].number, 1);
        for wrong in [&b"[]"[..], b"", b"[1]", b"[{}]"] {
            let mut unread = account(9, false);
            unread.waits(wrong);
            assert!(matches!(unread.take_report().0, Some(ProgramReport::Unreadable)));
            assert!(unread.take_cell().unwrap().requests.is_empty());
        }
        let mut beyond = account(0, false);
        assert_eq!(beyond.waits(asked).first(), Some(&1), "it counts as a call");
        let mut none = HostCallAccount::new(Box::new(Storing), b"{}", &TurnLimits::DEFAULT);
        none.waits(asked);
        assert!(matches!(none.take_report().0, Some(ProgramReport::Unreadable)));
    }

    #[test]
    fn a_confirmation_without_an_order_says_nothing() {
        for ordered in [false, true] {
            let mut account = account(0, ordered);
            account.note_reseeded();
            assert_eq!(account.take_cell().unwrap().reseeded, ordered);
        }
    }

    proptest! {
        #[test]
        fn whatever_is_shown_stays_within_the_bounds(
            shows in prop::collection::vec(
                (prop::option::of(0..9_usize), prop::collection::vec("(\u{1}{0,20000}|.{0,9})", 1..4)),
                0..40,
            ),
        ) {
            let mut account = account(10_000, false);
            for (at, texts) in &shows {
                let parts: Vec<_> = texts.iter().map(|one| text(one)).collect();
                account.show(*at, &parts, ROOM).ok();
            }
            let cell = account.cell.as_ref().unwrap();
            prop_assert_eq!(cell.inline, cell.outcome.inline_length());
            prop_assert!(cell.outcome.is_bounded());
        }

        #[test]
        fn hostile_requests_never_panic(payload in prop::collection::vec(any::<u8>(), 0..64)) {
            std::hint::black_box(CellRequest::parse(&payload));
        }
    }
}
