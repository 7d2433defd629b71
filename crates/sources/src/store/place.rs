//! A place in an object store: `s3://BUCKET[/KEY]`.

use crate::error::{SourceError, shown};

/// Longest key, as S3 has it, with room for names of packages.
const MAX_KEY: usize = 700;

/// A bucket, and what is named in it: the beginning of the keys of packages, or one package.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StorePlace<'a> {
    pub(crate) bucket: &'a str,
    /// Without slashes at its ends; empty for the whole bucket.
    pub(crate) key: &'a str,
}

/// Reads what is behind `s3://`.
pub(crate) fn parse(text: &str) -> Result<StorePlace<'_>, SourceError> {
    let (bucket, key) = text.split_once('/').unwrap_or((text, ""));
    let key = key.strip_suffix('/').unwrap_or(key);
    if is_bucket(bucket) && (key.is_empty() || is_key(key)) {
        return Ok(StorePlace { bucket, key });
    }
    // A user who writes credentials in front of a bucket reads them nowhere.
    let shown_text = shown(text.rsplit_once('@').map_or(text, |(_, behind)| behind));
    Err(SourceError::NotASource(format!(
        "`s3://{shown_text}` names no place in an object store: write `s3://BUCKET/PREFIX`, with a bucket of small letters, \
         digits, `-` and `.`, and a prefix of letters, digits, `-`, `_`, `.`, `+` and `/`; the address of the store is in \
         AWS_ENDPOINT_URL"
    )))
}

fn is_bucket(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_inner = |byte: u8| is_plain(byte) || b"-.".contains(&byte);
    (3..=63).contains(&text.len())
        && text.bytes().all(is_inner)
        && text.bytes().next().is_some_and(is_plain)
        && text.bytes().next_back().is_some_and(is_plain)
        && !text.contains("..")
}

fn is_key(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(is_plain);
    text.len() <= MAX_KEY && text.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_and_keys_are_plain() {
        for (text, bucket, key) in [
            ("skills", "skills", ""),
            ("skills/", "skills", ""),
            ("my.skills-1/team/v1", "my.skills-1", "team/v1"),
            ("skills/team/", "skills", "team"),
            ("skills/acme.x/1.0.0+b.tar", "skills", "acme.x/1.0.0+b.tar"),
        ] {
            let place = parse(text).unwrap();
            assert_eq!((place.bucket, place.key), (bucket, key), "{text}");
        }
        for text in [
            "",
            "ab",
            "Skills/x",
            "skills//x",
            "skills/../x",
            "skills/./x",
            "skills/a b",
            "skills/a?b",
            "skills/a%2fb",
            "-skills/x",
            "ski..lls",
            "AKIA:hunter2@skills/x",
            "localhost:9000/x",
        ] {
            let refused = parse(text).unwrap_err().to_string();
            assert!(!refused.contains("hunter2"), "{refused}");
        }
    }
}
