//! Formats sizes, times and digests for people.

use std::time::Duration;

use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Shown hexadecimal digits of a digest.
const SHOWN_DIGITS: usize = 16;

/// The first digits of a digest: enough to tell files apart. `--json` prints all.
pub(crate) fn first_digits(digest: &Digest) -> String {
    digest.to_string().chars().take(SHOWN_DIGITS).collect()
}

/// Formats a size with at most four digits.
pub(crate) fn readable(size: ByteCount) -> String {
    let mut value = size.as_u64();
    let mut tenths = 0;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1_024 {
            break;
        }
        tenths = (value % 1_024) * 10 / 1_024;
        value /= 1_024;
        unit = larger;
    }
    if value < 10 && unit != "B" {
        format!("{value}.{tenths} {unit}")
    } else {
        format!("{value} {unit}")
    }
}

/// Formats the time since something happened, such as `3 h ago`.
pub(crate) fn age(time: Duration) -> String {
    format!("{} ago", span(time))
}

/// Formats a duration in its largest unit.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let units = [(86_400, "d"), (3_600, "h"), (60, "min")];
    let unit = units.iter().find(|(length, _)| seconds >= *length);
    unit.map_or_else(
        || format!("{seconds} s"),
        |(length, name)| format!("{} {name}", seconds / length),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_readable() {
        for (seconds, text) in [
            (0, "0 s ago"),
            (59, "59 s ago"),
            (60, "1 min ago"),
            (7_200, "2 h ago"),
            (200_000, "2 d ago"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn sizes_are_readable() {
        for (bytes, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_536, "1.5 KiB"),
            (98 << 20, "98 MiB"),
            (5 << 30, "5.0 GiB"),
        ] {
            assert_eq!(readable(ByteCount::bytes(bytes)), text);
        }
    }
}
