//! Spans that are over, as they wait to be sent.

use std::sync::Arc;

use crate::traces::context::{SpanId, TraceId};
use wardian_vocabulary::ids::TenantId;

/// Longest text of an attribute, in bytes.
const MAX_TEXT: usize = 128;

/// The name of a span: one or two words of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanName(pub(super) &'static str, pub(super) &'static str);

impl SpanName {
    /// A name of one word.
    #[must_use]
    pub const fn of(word: &'static str) -> Self {
        Self(word, "")
    }

    /// A method of HTTP and a route.
    #[must_use]
    pub const fn of_route(method: &'static str, route: &'static str) -> Self {
        Self(method, route)
    }

    pub(super) fn text(self) -> String {
        let Self(first, second) = self;
        if second.is_empty() { first.to_owned() } else { format!("{first} {second}") }
    }
}

/// The part that a span has in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// It answers a request.
    Server,
    /// A step within.
    Internal,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    /// A word of this program.
    Word(&'static str),
    /// An identifier that this server has checked, such as the name of a tenant; cut to 128 bytes.
    Text(String),
    /// A number.
    Number(i64),
    /// A claim.
    Flag(bool),
}

impl AttributeValue {
    /// An identifier that this server has checked.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let kept = text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default();
        Self::Text(kept.to_owned())
    }

    /// A number. One that is too large is the largest that there is.
    #[must_use]
    pub fn number(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<&'static str> for AttributeValue {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

/// The attributes of a span.
pub(super) type Attributes = Vec<(&'static str, AttributeValue)>;

/// A span that is over.
#[derive(Debug)]
pub(super) struct FinishedSpan {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    /// True if the parent is a client's.
    pub(super) is_parent_remote: bool,
    /// The span of a client that began the request and is not the parent.
    pub(super) link: Option<(TraceId, SpanId)>,
    /// The header `tracestate` of the request.
    pub(super) state: String,
    pub(super) name: SpanName,
    pub(super) kind: SpanKind,
    /// Nanoseconds since the Unix epoch.
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) attributes: Attributes,
    /// The tenant whose share of the queue it takes. It is not sent.
    pub(super) tenant: Arc<TenantId>,
    /// The kind of error that it ended with.
    pub(super) error: Option<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_attributes_are_short_and_whole_characters() {
        let text = "ä".repeat(100);
        let AttributeValue::Text(kept) = AttributeValue::text(&text) else { panic!("no text") };
        assert_eq!(kept, "ä".repeat(64));
        assert_eq!(AttributeValue::text("acme"), AttributeValue::Text("acme".to_owned()));
        assert_eq!(AttributeValue::number(u64::MAX), AttributeValue::Number(i64::MAX));
    }
}
