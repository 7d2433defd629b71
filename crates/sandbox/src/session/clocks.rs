//! The clocks and the randomness of a guest as bytes.

use std::time::Duration;

use crate::clock_and_random::{ParkedClocks, ParkedSeeded};
use crate::session::error::PackError;
use crate::session::pack::reader::PackReader;
use crate::session::pack::writer::PackWriter;
use crate::vfs::Timestamp;

const LIVE: u8 = 0;
const BY_READINGS: u8 = 1;
const BY_FUEL: u8 = 2;

/// Writes the clocks, and the time of the last change of a file.
pub(crate) fn write_clocks(clocks: &ParkedClocks, last_change: Timestamp) -> Vec<u8> {
    let mut output = PackWriter::default();
    output.u64(last_change);
    output.u64(nanoseconds(clocks.passed));
    for (step, times) in clocks.shown {
        output.u64(nanoseconds(step));
        output.number(times.into());
    }
    match clocks.seeded {
        None => output.byte(LIVE),
        Some(ParkedSeeded { drawn, fuel: None }) => {
            output.byte(BY_READINGS);
            output.number(drawn);
        }
        Some(ParkedSeeded { drawn, fuel: Some((budget, left)) }) => {
            output.byte(BY_FUEL);
            output.number(drawn);
            output.number(budget);
            output.number(left);
        }
    }
    output.into_bytes()
}

/// Reads what [`write_clocks`] has written.
///
/// # Errors
///
/// The bytes are malformed.
pub(crate) fn read_clocks(bytes: &[u8]) -> Result<(ParkedClocks, Timestamp), PackError> {
    let mut input = PackReader::new(bytes, "its clocks are malformed");
    let last_change = input.u64()?;
    let passed = Duration::from_nanos(input.u64()?);
    let mut shown = [(Duration::ZERO, 0); 3];
    for (step, times) in &mut shown {
        *step = Duration::from_nanos(input.u64()?);
        *times = input.small()?;
    }
    let seeded = match input.byte()? {
        LIVE => None,
        BY_READINGS => Some(ParkedSeeded { drawn: input.number()?, fuel: None }),
        BY_FUEL => {
            let drawn = input.number()?;
            Some(ParkedSeeded { drawn, fuel: Some((input.number()?, input.number()?)) })
        }
        _ => return Err(input.fault()),
    };
    input.end()?;
    Ok((ParkedClocks { passed, seeded, shown }, last_change))
}

/// Enough for 584 years.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clocks() -> impl Strategy<Value = ParkedClocks> {
        let time = || any::<u64>().prop_map(Duration::from_nanos);
        let seeded = (any::<u64>(), any::<Option<(u64, u64)>>())
            .prop_map(|(drawn, fuel)| ParkedSeeded { drawn, fuel });
        let shown = prop::array::uniform3((time(), any::<u32>()));
        (time(), prop::option::of(seeded), shown).prop_map(|(passed, seeded, shown)| ParkedClocks {
            passed,
            seeded,
            shown,
        })
    }

    proptest! {
        #[test]
        fn clocks_are_read_as_they_were_written(clocks in clocks(), last_change in any::<u64>()) {
            let written = write_clocks(&clocks, last_change);
            prop_assert_eq!(read_clocks(&written).unwrap(), (clocks, last_change));
            prop_assert!(read_clocks(&written[..written.len() - 1]).is_err());
            prop_assert!(read_clocks(&[&written[..], &[0]].concat()).is_err());
        }

        #[test]
        fn bounded_packs_have_clocks_of_one_form(bytes in prop::collection::vec(any::<u8>(), 40..70)) {
            if let Ok((clocks, last_change)) = read_clocks(&bytes) {
                prop_assert_eq!(write_clocks(&clocks, last_change), bytes);
            }
        }
    }
}
