//! The time in which a certificate is valid (RFC 5280, section 4.1.2.5).
//!
//! Reads the two dates and skips everything else. The server's own certificate comes from its
//! operator and is not verified here: clients verify it.

use std::time::Duration;

use wardian_vocabulary::clock::calendar::{SECONDS_OF_A_DAY, days_since_epoch};

/// Tags of DER.
const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The time in which a certificate is valid, since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    /// Its beginning.
    pub from: Duration,
    /// Its end.
    pub until: Duration,
}

impl Validity {
    /// Reads the validity of a certificate (DER). `None` if it is malformed, or before 1970.
    pub(crate) fn of(certificate: &[u8]) -> Option<Self> {
        let (certificate, _) = expect(certificate, SEQUENCE)?;
        let (body, _) = expect(certificate, SEQUENCE)?;
        let body = expect(body, VERSION).map_or(body, |(_, rest)| rest);
        let (_serial, body) = expect(body, INTEGER)?;
        let (_algorithm, body) = expect(body, SEQUENCE)?;
        let (_issuer, body) = expect(body, SEQUENCE)?;
        let (validity, _) = expect(body, SEQUENCE)?;
        let (from, rest) = time(validity)?;
        let (until, _) = time(rest)?;
        Some(Self { from, until })
    }
}

/// The content of the first element, which must have this tag, and the rest.
fn expect(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = element(bytes)?;
    (found == tag).then_some((content, rest))
}

/// The tag and the content of the first element, and the rest.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, bytes) = bytes.split_first()?;
    let (first, bytes) = bytes.split_first()?;
    let (length, bytes) = match *first {
        short @ ..=0x7f => (usize::from(short), bytes),
        long @ 0x81..=0x84 => {
            let (digits, bytes) = bytes.split_at_checked(usize::from(long & 0x7f))?;
            let length = digits.iter().fold(0_u64, |sum, digit| sum << 8 | u64::from(*digit));
            (usize::try_from(length).ok()?, bytes)
        }
        _ => return None,
    };
    let (content, rest) = bytes.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// The time in the first element, and the rest.
fn time(bytes: &[u8]) -> Option<(Duration, &[u8])> {
    let (tag, content, rest) = element(bytes)?;
    let digits = content.strip_suffix(b"Z")?;
    let (year, digits) = match tag {
        UTC_TIME => {
            let (year, digits) = number(digits, 2)?;
            // Years from 50 on are of the last century.
            (if year >= 50 { year.checked_add(1900)? } else { year.checked_add(2000)? }, digits)
        }
        GENERALIZED_TIME => number(digits, 4)?,
        _ => return None,
    };
    let (month, digits) = number(digits, 2)?;
    let (day, digits) = number(digits, 2)?;
    let (hour, digits) = number(digits, 2)?;
    let (minute, digits) = number(digits, 2)?;
    let (second, digits) = number(digits, 2)?;
    let is_time = hour < 24 && minute < 60 && second < 60 && digits.is_empty();
    let days = days_since_epoch(year, month, day).filter(|_| is_time)?;
    let seconds = days.checked_mul(SECONDS_OF_A_DAY)?;
    let seconds = seconds.checked_add(hour * 3_600 + minute * 60 + second)?;
    Some((Duration::from_secs(seconds), rest))
}

/// The number in the first digits, and the rest.
fn number(text: &[u8], digits: usize) -> Option<(u64, &[u8])> {
    let (number, rest) = text.split_at_checked(digits)?;
    if !number.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = number.iter().fold(0, |sum, digit| sum * 10 + u64::from(*digit & 0x0f));
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    fn certificate(from: (i32, u8, u8), until: (i32, u8, u8)) -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(from.0, from.1, from.2);
        params.not_after = date_time_ymd(until.0, until.1, until.2);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn both_dates_are_read() {
        // `date -u -d DATE +%s`; from 2050 on certificates write years with four digits.
        for (date, seconds) in [
            ((1970, 1, 1), 0),
            ((1999, 12, 31), 946_598_400),
            ((2000, 2, 29), 951_782_400),
            ((2026, 11, 22), 1_795_305_600),
            ((2049, 12, 31), 2_524_521_600),
            ((2050, 1, 1), 2_524_608_000),
            ((2100, 3, 1), 4_107_542_400),
            ((9999, 12, 31), 253_402_214_400),
        ] {
            let read = Validity::of(&certificate((1970, 1, 1), date)).unwrap();
            assert_eq!((read.from.as_secs(), read.until.as_secs()), (0, seconds), "{date:?}");
        }
    }

    #[test]
    fn a_cut_certificate_has_no_dates_or_the_same() {
        let whole = certificate((2020, 1, 1), (2030, 1, 1));
        for length in 0..whole.len() {
            assert_eq!(Validity::of(&whole[..length]), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            Validity::of(&bytes);
            time(&bytes);
        }

        #[test]
        fn any_changed_byte_is_read_or_refused(at in 0_usize..300, byte in any::<u8>()) {
            let mut changed = certificate((2020, 1, 1), (2030, 1, 1));
            if let Some(place) = changed.get_mut(at) {
                *place = byte;
            }
            Validity::of(&changed);
        }
    }
}
