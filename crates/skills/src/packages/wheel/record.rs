//! `RECORD`: the digests and sizes of a wheel's files, as CSV.

use std::collections::HashMap;

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

/// Digest and size of a file; both are absent for `RECORD` itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recorded<'a> {
    digest: &'a str,
    size: &'a str,
}

/// The rows of a record by path.
#[derive(Debug)]
pub(super) struct WheelRecord<'a>(HashMap<String, Recorded<'a>>);

impl<'a> WheelRecord<'a> {
    /// Reads the text of a record; `None` if it is not such a table, or has a path twice.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let mut rows = HashMap::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (path, rest) = split_path(line)?;
            let (digest, size) = rest.split_once(',')?;
            let row = Recorded { digest: unquoted(digest), size: unquoted(size) };
            if rows.insert(path, row).is_some() {
                return None;
            }
        }
        Some(Self(rows))
    }

    /// Checks the content of a file. Returns the problem, as the end of a sentence.
    pub(super) fn fault(&self, path: &str, content: &[u8]) -> Option<&'static str> {
        let Some(row) = self.0.get(path) else { return Some("which its RECORD does not list") };
        if !row.size.is_empty() && row.size.trim() != content.len().to_string() {
            return Some("whose size is not the one in its RECORD");
        }
        let found = match row.digest.split_once('=') {
            Some(("sha256", _)) => BASE64URL_NOPAD.encode(&Sha256::digest(content)),
            Some(("sha384", _)) => BASE64URL_NOPAD.encode(&Sha384::digest(content)),
            Some(("sha512", _)) => BASE64URL_NOPAD.encode(&Sha512::digest(content)),
            _ => return Some("which has no strong digest in its RECORD"),
        };
        let expected = row.digest.split_once('=').map_or("", |(_, digest)| digest);
        let is_right = expected.trim_end_matches('=') == found;
        (!is_right).then_some("whose content is not that in its RECORD")
    }

    /// The first recorded path for which `has` is false.
    pub(super) fn missing(&self, has: impl Fn(&str) -> bool) -> Option<&str> {
        let mut missing: Vec<&str> =
            self.0.keys().map(String::as_str).filter(|path| !has(path)).collect();
        missing.sort_unstable();
        missing.first().copied()
    }
}

/// Splits the path off a row. A path with a comma is quoted.
fn split_path(line: &str) -> Option<(String, &str)> {
    let Some(quoted) = line.strip_prefix('"') else {
        let (path, rest) = line.split_once(',')?;
        return Some((path.to_owned(), rest));
    };
    let mut path = String::new();
    let mut rest = quoted;
    loop {
        let (part, after) = rest.split_once('"')?;
        path.push_str(part);
        match after.strip_prefix('"') {
            Some(more) => {
                path.push('"');
                rest = more;
            }
            None => return Some((path, after.strip_prefix(',')?)),
        }
    }
}

fn unquoted(field: &str) -> &str {
    let field = field.trim_end_matches('\r');
    field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_checked_against_its_row() {
        let digest = BASE64URL_NOPAD.encode(&Sha256::digest(b"x = 1\n"));
        let text = format!(
            "a.py,sha256={digest},6\r\n\"b,\"\"c.py\",sha256={digest},6\nd.py,md5=00,6\ne.py,sha256={digest},7\nf.py,sha256={digest},\na/RECORD,,\n"
        );
        let record = WheelRecord::parse(&text).unwrap();
        assert_eq!(record.fault("a.py", b"x = 1\n"), None);
        assert_eq!(record.fault("f.py", b"x = 1\n"), None);
        assert_eq!(record.fault("b,\"c.py", b"x = 1\n"), None);
        assert!(record.fault("a.py", b"x = 2\n").unwrap().contains("content"));
        assert!(record.fault("e.py", b"x = 1\n").unwrap().contains("size"));
        assert!(record.fault("d.py", b"x = 1\n").unwrap().contains("no strong digest"));
        assert!(record.fault("z.py", b"").unwrap().contains("does not list"));
        assert_eq!(record.missing(|path| path != "d.py"), Some("d.py"));
    }

    #[test]
    fn what_is_no_table_is_none() {
        for text in ["a.py", "\"a.py,,", "a.py,,\na.py,,", "\"a\"x,,"] {
            assert!(WheelRecord::parse(text).is_none(), "{text}");
        }
    }
}
