//! The messages of OTLP, as far as spans need them: `opentelemetry/proto/collector/trace/v1` and
//! those that it names.

use prost::{Enumeration, Message, Oneof};

use crate::traces::context::{SpanId, TraceId};
use crate::traces::span::{AttributeValue, FinishedSpan, SpanKind};

/// Flags of a recorded span whose parent is known to be one of this server, or of a client.
const LOCAL: u32 = 0x101;
const REMOTE: u32 = 0x301;

/// The code of a status of an error.
const FAILED: i32 = 2;

#[derive(Clone, PartialEq, Message)]
struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(enumeration = "Kind", tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "13")]
    links: Vec<Link>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    flags: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
enum Kind {
    Unspecified = 0,
    Internal = 1,
    Server = 2,
}

#[derive(Clone, PartialEq, Message)]
struct Link {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 2, 3")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Flag(bool),
    #[prost(int64, tag = "3")]
    Number(i64),
}

#[derive(Clone, PartialEq, Message)]
struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_spans: i64,
}

/// The body of a request that exports `spans` of the service with this name.
pub(super) fn request_body(service: &str, spans: &[FinishedSpan]) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let resource = Resource {
        attributes: vec![
            text_attribute("service.name", service),
            text_attribute("service.version", version),
        ],
    };
    let scope = Scope { name: "wardian".to_owned(), version: version.to_owned() };
    let spans = spans.iter().map(message_of).collect();
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
    let resource_spans = vec![ResourceSpans { resource: Some(resource), scope_spans }];
    ExportRequest { resource_spans }.encode_to_vec()
}

/// The number of spans that the collector rejected, by the body of its answer. What cannot be read
/// rejects none.
pub(super) fn rejected_spans(body: &[u8]) -> u64 {
    let rejected = ExportResponse::decode(body).ok().and_then(|answer| answer.partial_success);
    rejected.and_then(|partial| u64::try_from(partial.rejected_spans).ok()).unwrap_or(0)
}

fn message_of(span: &FinishedSpan) -> Span {
    let error = span.error.map(|kind| text_attribute("error.type", kind));
    let attributes = span.attributes.iter().map(|(key, value)| attribute(key, value_of(value)));
    Span {
        trace_id: span.trace.bytes(),
        span_id: span.id.bytes(),
        trace_state: span.state.clone(),
        parent_span_id: span.parent.map(SpanId::bytes).unwrap_or_default(),
        name: span.name.text(),
        kind: match span.kind {
            SpanKind::Server => Kind::Server.into(),
            SpanKind::Internal => Kind::Internal.into(),
        },
        start_time_unix_nano: span.began,
        end_time_unix_nano: span.ended,
        attributes: attributes.chain(error).collect(),
        links: span.link.into_iter().map(link_to).collect(),
        status: span.error.map(|_| Status { code: FAILED }),
        flags: if span.is_parent_remote { REMOTE } else { LOCAL },
    }
}

fn link_to((trace, span): (TraceId, SpanId)) -> Link {
    Link { trace_id: trace.bytes(), span_id: span.bytes() }
}

fn text_attribute(key: &str, text: &str) -> KeyValue {
    attribute(key, Value::Text(text.to_owned()))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

fn value_of(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Word(word) => Value::Text((*word).to_owned()),
        AttributeValue::Text(text) => Value::Text(text.clone()),
        AttributeValue::Number(number) => Value::Number(*number),
        AttributeValue::Flag(flag) => Value::Flag(*flag),
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
    };
    use opentelemetry_proto::tonic::common::v1::any_value;
    use opentelemetry_proto::tonic::trace::v1 as library;

    use super::*;
    use crate::traces::span::SpanName;

    fn span() -> FinishedSpan {
        FinishedSpan {
            trace: TraceId::of([1; 16]).unwrap(),
            id: SpanId::of([2; 8]).unwrap(),
            parent: SpanId::of([3; 8]),
            is_parent_remote: true,
            link: None,
            state: "a=1".to_owned(),
            name: SpanName::of_route("POST", "/rpc"),
            kind: SpanKind::Server,
            began: 5,
            ended: 9,
            attributes: vec![
                ("word", "w".into()),
                ("text", AttributeValue::text("t")),
                ("number", AttributeValue::Number(-7)),
                ("flag", AttributeValue::Flag(true)),
            ],
            error: Some("timeout"),
            tenant: std::sync::Arc::new(wardian_vocabulary::ids::TenantId::local()),
        }
    }

    #[test]
    fn spans_are_read_by_the_library_of_opentelemetry() {
        let link = Some((TraceId::of([7; 16]).unwrap(), SpanId::of([8; 8]).unwrap()));
        let inner = FinishedSpan {
            link,
            parent: None,
            is_parent_remote: false,
            name: SpanName::of("run"),
            kind: SpanKind::Internal,
            error: None,
            ..span()
        };
        let body = request_body("here", &[span(), inner]);
        let read = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
        assert_eq!(read.encode_to_vec(), body, "the library reads all of it");
        let [resource] = read.resource_spans.as_slice() else { panic!("{read:?}") };
        let name = &resource.resource.as_ref().unwrap().attributes[0];
        let here = any_value::Value::StringValue("here".to_owned());
        assert_eq!(name.key, "service.name");
        assert_eq!(name.value.as_ref().unwrap().value, Some(here));
        let [outer, inner] = resource.scope_spans[0].spans.as_slice() else { panic!("{read:?}") };
        assert_eq!((outer.name.as_str(), outer.trace_state.as_str()), ("POST /rpc", "a=1"));
        assert_eq!(
            (outer.trace_id.as_slice(), outer.span_id.as_slice()),
            (&[1; 16][..], &[2; 8][..])
        );
        assert_eq!(outer.parent_span_id, [3; 8]);
        assert_eq!((outer.start_time_unix_nano, outer.end_time_unix_nano), (5, 9));
        assert_eq!(outer.kind(), library::span::SpanKind::Server);
        assert_eq!(outer.status.as_ref().unwrap().code(), library::status::StatusCode::Error);
        let keys: Vec<_> = outer.attributes.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["word", "text", "number", "flag", "error.type"]);
        assert_eq!(inner.kind(), library::span::SpanKind::Internal);
        assert_eq!((inner.status.as_ref(), inner.parent_span_id.len()), (None, 0));
        assert_eq!(inner.links[0].trace_id, [7; 16]);
        assert_eq!((outer.flags, inner.flags), (0x301, 0x101));
    }

    #[test]
    fn rejections_are_read_as_the_library_writes_them() {
        let message = "no".to_owned();
        let partial = ExportTracePartialSuccess { rejected_spans: 3, error_message: message };
        let answer = ExportTraceServiceResponse { partial_success: Some(partial) };
        assert_eq!(rejected_spans(&answer.encode_to_vec()), 3);
        let negative = ExportTracePartialSuccess { rejected_spans: -3, ..Default::default() };
        let answer = ExportTraceServiceResponse { partial_success: Some(negative) };
        for body in [answer.encode_to_vec(), Vec::new(), b"<html>".to_vec(), vec![0xff; 99]] {
            assert_eq!(rejected_spans(&body), 0);
        }
    }
}
