//! The header `Range`: which bytes of a blob a client asks for (RFC 9110, section 14).

use std::ops::Range;

/// The part of a content that answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// All of it: the header is missing, malformed, of another unit, or names several ranges.
    Whole,
    /// These bytes: at least one, all within the content.
    Part(Range<u64>),
    /// No byte of the content lies in the range.
    Unsatisfiable,
}

/// Selects from a content of `size` bytes what the value of a header `Range` asks for.
///
/// Several ranges select the whole content: RFC 9110 allows a server to ignore the header, and an
/// answer with many small parts costs more than the content.
pub(crate) fn select(header: &str, size: u64) -> Selection {
    let Some((unit, ranges)) = header.split_once('=') else { return Selection::Whole };
    if !unit.trim_ascii().eq_ignore_ascii_case("bytes") {
        return Selection::Whole;
    }
    let mut named = ranges.split(',').map(str::trim_ascii).filter(|range| !range.is_empty());
    let (Some(range), None) = (named.next(), named.next()) else { return Selection::Whole };
    let Some((first, last)) = range.split_once('-') else { return Selection::Whole };
    let part = match (number(first), number(last)) {
        (Position::At(first), Position::At(last)) if first <= last => {
            first..last.saturating_add(1).min(size)
        }
        (Position::At(first), Position::Open) => first..size,
        (Position::Open, Position::At(length)) => size.saturating_sub(length)..size,
        _ => return Selection::Whole,
    };
    if part.is_empty() { Selection::Unsatisfiable } else { Selection::Part(part) }
}

/// One end of a range.
enum Position {
    At(u64),
    Open,
    Malformed,
}

/// A number that does not fit is larger than any content.
fn number(text: &str) -> Position {
    if text.is_empty() {
        return Position::Open;
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Position::Malformed;
    }
    Position::At(text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn single_ranges_select_their_bytes() {
        for (header, part) in [
            ("bytes=0-0", 0..1),
            ("bytes=0-9", 0..10),
            ("bytes=0-", 0..10),
            ("bytes=3-5", 3..6),
            ("bytes=9-9", 9..10),
            ("bytes=9-99", 9..10),
            ("bytes=0-18446744073709551615", 0..10),
            ("bytes=0-99999999999999999999999", 0..10),
            ("bytes=-1", 9..10),
            ("bytes=-10", 0..10),
            ("bytes=-11", 0..10),
            ("bytes=-99999999999999999999999", 0..10),
            ("Bytes=1-2", 1..3),
            ("bytes = 1-2 ", 1..3),
            ("bytes=,1-2,", 1..3),
            ("bytes=0001-002", 1..3),
        ] {
            assert_eq!(select(header, 10), Selection::Part(part), "{header}");
        }
    }

    #[test]
    fn ranges_beyond_the_end_cannot_be_satisfied() {
        for header in ["bytes=10-", "bytes=10-11", "bytes=-0", "bytes=99999999999999999999-"] {
            assert_eq!(select(header, 10), Selection::Unsatisfiable, "{header}");
        }
        for header in ["bytes=0-", "bytes=0-0", "bytes=-5"] {
            assert_eq!(select(header, 0), Selection::Unsatisfiable, "{header}");
        }
    }

    #[test]
    fn everything_else_selects_the_whole() {
        for header in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "bytes=1",
            "bytes=5-4",
            "bytes=+1-2",
            "bytes=1-+2",
            "bytes=--1",
            "bytes=1--2",
            "bytes=0x1-2",
            "bytes=1 - 2",
            "bytes=1-2-3",
            "items=0-1",
            "bytes=0-1,3-4",
            "bytes=0-0,0-0",
            "bytes:0-1",
            "bytes=\u{661}-2",
            "=0-1",
        ] {
            assert_eq!(select(header, 10), Selection::Whole, "{header}");
        }
        let many = format!("bytes={}", "0-0,".repeat(4_000));
        assert_eq!(select(&many, 10), Selection::Whole);
    }

    proptest! {
        #[test]
        fn a_selected_part_is_never_empty_and_lies_within(
            header in "(bytes=)?[0-9,\\- ]{0,24}|\\PC{0,24}",
            size in any::<u64>(),
        ) {
            if let Selection::Part(part) = select(&header, size) {
                prop_assert!(part.start < part.end && part.end <= size, "{part:?} of {size}");
            }
        }

        #[test]
        fn a_range_selects_what_it_names(
            first in any::<u64>(),
            last in any::<u64>(),
            size in any::<u64>(),
        ) {
            let expected = if first > last {
                Selection::Whole
            } else if first >= size {
                Selection::Unsatisfiable
            } else {
                Selection::Part(first..last.saturating_add(1).min(size))
            };
            prop_assert_eq!(select(&format!("bytes={first}-{last}"), size), expected);
        }
    }
}
