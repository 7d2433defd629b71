//! The file name in a `Content-Disposition` that a server sends (RFC 6266).

use wardian_vocabulary::ids::BlobName;

/// The name that a header proposes; none if it has none, or one that is not the name of a file. So a
/// server cannot lead a file out of the folder that it is saved in.
pub(super) fn proposed_name(value: &str) -> Option<BlobName> {
    let parameter = |name: &str| {
        let found = value.split(';').find_map(|part| part.trim().strip_prefix(name));
        found.map(str::trim)
    };
    let decoded = match parameter("filename*=").and_then(|text| text.strip_prefix("UTF-8''")) {
        Some(encoded) => decoded(encoded)?,
        None => parameter("filename=")?.trim_matches('"').to_owned(),
    };
    BlobName::parse(&decoded).ok()
}

/// Decodes `%` and two hexadecimal digits.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let value = digit()?.checked_mul(16)?.checked_add(digit()?)?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers_are_read_and_never_leave_a_folder() {
        for (value, name) in [
            ("attachment; filename=\"a b.csv\"", Some("a b.csv")),
            ("attachment; filename=\"_.txt\"; filename*=UTF-8''%C3%A9.txt", Some("é.txt")),
            ("attachment; filename=\"../../etc/passwd\"", None),
            ("attachment; filename*=UTF-8''..%2Fx", None),
            ("attachment; filename*=UTF-8''%0a", None),
            ("attachment; filename*=UTF-8''%e", None),
            ("attachment; filename*=UTF-8''%ff", None),
            ("attachment; filename=\"..\"", None),
            ("attachment", None),
            ("", None),
        ] {
            let found = proposed_name(value);
            assert_eq!(found.as_ref().map(BlobName::as_str), name, "{value}");
        }
    }
}
