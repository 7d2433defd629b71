//! The span of a request, and the place in a trace that the log lines about it name.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument as _, Span, error_span};

use crate::http::access::credentials::is_public;
use crate::http::metrics::{OTHER_ROUTES, route_of};
use wardian_service::CallerIdentity;
use wardian_telemetry::traces::{AttributeValue, RemoteParent, SpanName, TraceScope, Tracer};

/// The methods that spans name.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];

/// Records the span of a request, below which those of its calls are, and hands its place on in the
/// extensions of the request. It ends with the head of the answer. Probes of health have none.
pub(crate) async fn trace_request(
    State(tracer): State<Tracer>,
    mut request: Request,
    next: Next,
) -> Response {
    let tenant = match request.extensions().get::<CallerIdentity>() {
        Some(identity) if !is_public(request.uri().path()) => identity.tenant.clone(),
        _ => return next.run(request).await,
    };
    let (method, route) = (name_of(request.method()), route_of(&request));
    let name = match route {
        OTHER_ROUTES => SpanName::of(method.unwrap_or("HTTP")),
        route => SpanName::of_route(method.unwrap_or("HTTP"), route),
    };
    let mut span = tracer.begin(name, parent_of(request.headers()), &tenant);
    span.set("http.request.method", method.unwrap_or("_OTHER"));
    if route != OTHER_ROUTES {
        span.set("http.route", route);
    }
    // If the client leaves, nobody says anything else.
    span.fail("cancelled");
    request.extensions_mut().insert(span.scope().clone());
    let answer = next.run(request).instrument(lines_of(span.scope())).await;
    let status = answer.status();
    span.set("http.response.status_code", AttributeValue::number(status.as_u16().into()));
    match status.as_u16() {
        // The faults of clients are not errors of a server.
        ..500 => span.succeed(),
        503 => span.fail("503"),
        _ => span.fail("500"),
    }
    answer
}

/// Names the place in the log lines of whatever it is entered for.
fn lines_of(scope: &TraceScope) -> Span {
    match (scope.trace_id(), scope.span_id()) {
        (Some(trace), Some(span)) => {
            error_span!("request", trace_id = %trace, span_id = %span)
        }
        _ => Span::none(),
    }
}

fn parent_of(headers: &HeaderMap) -> Option<RemoteParent> {
    let values = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes);
    RemoteParent::read(values("traceparent"), values("tracestate"))
}

fn name_of(method: &Method) -> Option<&'static str> {
    METHODS.into_iter().find(|known| *known == method.as_str())
}
