//! Entity tags, and the conditions of a request that compare them (RFC 9110, section 13).
//!
//! The tag of a blob is its id, which follows from its kind and content, so a tag never changes and
//! is always strong.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// Most tags that a condition may name.
const MAX_TAGS: usize = 64;

/// The tags that a condition names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tags {
    /// `*`: any.
    Any,
    /// These, without quotes.
    Listed(Vec<String>),
}

impl Tags {
    /// Reads a header such as `If-None-Match`. Malformed tags match nothing and are left out.
    pub(crate) fn read(headers: &HeaderMap, name: &HeaderName) -> Option<Self> {
        let mut tags = Vec::new();
        let mut is_given = false;
        for value in headers.get_all(name) {
            is_given = true;
            let text = value.to_str().unwrap_or_default();
            for tag in text.split(',').map(str::trim_ascii) {
                if tag == "*" {
                    return Some(Self::Any);
                }
                let strong = tag.strip_prefix("W/").unwrap_or(tag);
                let bare = strong.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
                tags.extend(bare.filter(|_| tags.len() < MAX_TAGS).map(str::to_owned));
            }
        }
        is_given.then_some(Self::Listed(tags))
    }

    /// True if a tag is `tag`.
    pub(crate) fn has(&self, tag: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Listed(tags) => tags.iter().any(|listed| listed == tag),
        }
    }
}

/// The answer that the conditions of a request demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The usual one.
    Proceed,
    /// 304.
    NotModified,
    /// 412.
    Failed,
}

/// Judges `If-Match` and `If-None-Match` of a request that reads the content with this tag.
pub(crate) fn judge(headers: &HeaderMap, tag: &str) -> Verdict {
    if Tags::read(headers, &header::IF_MATCH).is_some_and(|tags| !tags.has(tag)) {
        return Verdict::Failed;
    }
    match Tags::read(headers, &header::IF_NONE_MATCH) {
        Some(tags) if tags.has(tag) => Verdict::NotModified,
        _ => Verdict::Proceed,
    }
}

/// True if a range may be answered: `If-Range` is missing or names this tag. A date names none,
/// because answers have none.
pub(crate) fn allows_range(headers: &HeaderMap, tag: &str) -> bool {
    let mut conditions = headers.get_all(header::IF_RANGE).iter();
    match (conditions.next(), conditions.next()) {
        (None, _) => true,
        (Some(condition), None) => condition.as_bytes() == quoted(tag).as_bytes(),
        (Some(_), Some(_)) => false,
    }
}

fn quoted(tag: &str) -> String {
    format!("\"{tag}\"")
}

/// The value of the header `ETag`.
pub(crate) fn etag(tag: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&quoted(tag)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_tag_that_is_known_is_not_sent_again() {
        let judged = |values: &[&str]| judge(&headers(&header::IF_NONE_MATCH, values), "abc");
        for known in
            [&["\"abc\""][..], &["W/\"abc\""], &["\"x\" , \"abc\""], &["*"], &["\"x\"", "\"abc\""]]
        {
            assert_eq!(judged(known), Verdict::NotModified, "{known:?}");
        }
        for other in
            [&[][..], &[""], &["abc"], &["\"ABC\""], &["\"ab\""], &["\"abc"], &["w/\"abc\""]]
        {
            assert_eq!(judged(other), Verdict::Proceed, "{other:?}");
        }
    }

    #[test]
    fn a_tag_that_must_match_does_or_the_request_fails() {
        let judged = |values: &[&str]| judge(&headers(&header::IF_MATCH, values), "abc");
        assert_eq!(judged(&["\"x\", \"abc\""]), Verdict::Proceed);
        assert_eq!(judged(&["*"]), Verdict::Proceed);
        assert_eq!(judged(&["\"x\""]), Verdict::Failed);
        assert_eq!(judged(&["nonsense"]), Verdict::Failed);
    }

    #[test]
    fn a_range_depends_on_the_strong_tag() {
        let allows = |values: &[&str]| allows_range(&headers(&header::IF_RANGE, values), "abc");
        assert!(allows(&[]) && allows(&["\"abc\""]));
        for other in ["\"x\"", "W/\"abc\"", "abc", "Sun, 22 Nov 2026 08:00:00 GMT", ""] {
            assert!(!allows(&[other]), "{other}");
        }
        assert!(!allows(&["\"abc\"", "\"abc\""]));
    }

    #[test]
    fn thousands_of_tags_cost_little() {
        let many = "\"x\",".repeat(3_000);
        let Some(Tags::Listed(tags)) =
            Tags::read(&headers(&header::IF_NONE_MATCH, &[&many]), &header::IF_NONE_MATCH)
        else {
            panic!("no list");
        };
        assert_eq!(tags.len(), MAX_TAGS);
    }
}
