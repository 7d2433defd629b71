//! The rules for values.

use zeroize::Zeroize as _;

use crate::secrets::error::ValueFault;
use wardian_vocabulary::secret_text::SecretText;

/// Largest value, in bytes. Keys, tokens, certificates and service accounts have less than 8 KiB.
pub const MAX_VALUE: usize = 32 << 10;

/// Maximum number of bytes of all secrets of one run: masks take some hundred times as much memory.
pub const MAX_TOTAL: usize = 64 << 10;

/// Checks a value. One line break at its end is dropped, because editors and `echo` add one.
pub(super) fn checked(mut bytes: Vec<u8>) -> Result<SecretText, ValueFault> {
    if bytes.ends_with(b"\n") {
        bytes.pop();
        if bytes.ends_with(b"\r") {
            bytes.pop();
        }
    }
    if let Some(fault) = fault_of(&bytes) {
        bytes.zeroize();
        return Err(fault);
    }
    String::from_utf8(bytes).map(SecretText::from).map_err(|error| {
        error.into_bytes().zeroize();
        ValueFault::NotText
    })
}

fn fault_of(bytes: &[u8]) -> Option<ValueFault> {
    if bytes.is_empty() {
        Some(ValueFault::Empty)
    } else if bytes.len() > MAX_VALUE {
        Some(ValueFault::TooLong)
    } else if bytes.contains(&0) {
        Some(ValueFault::ZeroByte)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_text_of_any_lines() {
        for (given, kept) in [
            ("key", "key"),
            ("key\n", "key"),
            ("key\r\n", "key"),
            ("a\nb\n\n", "a\nb\n"),
            (" key ", " key "),
            ("schlüssel", "schlüssel"),
        ] {
            assert_eq!(checked(given.as_bytes().to_vec()).unwrap().expose(), kept);
        }
        let largest = vec![b'k'; MAX_VALUE];
        assert!(checked(largest.clone()).is_ok());
        for (given, fault) in [
            (Vec::new(), ValueFault::Empty),
            (b"\n".to_vec(), ValueFault::Empty),
            ([largest, vec![b'k']].concat(), ValueFault::TooLong),
            (b"a\xff".to_vec(), ValueFault::NotText),
            (b"a\0b".to_vec(), ValueFault::ZeroByte),
        ] {
            assert_eq!(checked(given).unwrap_err(), fault);
        }
    }
}
