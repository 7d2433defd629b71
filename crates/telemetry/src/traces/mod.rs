//! Traces in the form of OpenTelemetry: spans of requests, calls and runs, which a separate thread
//! sends to the collector that an operator names. Without one nothing is recorded and nothing is
//! sent.
//!
//! INVARIANT(own-words-in-spans): names of spans and keys of attributes are constants of this
//! program, which their types say. Values are words, numbers and short identifiers of the server; no
//! code, argument, output or secret of a run, and no text of a client but the `tracestate` that it
//! sent.
//!
//! INVARIANT(spans-never-wait): recording a span takes no longer if the collector is slow, hostile or
//! gone. The queue is bounded, and tenants have shares of it (`shares.rs`); a span that finds it full
//! is counted and dropped.
//!
//! INVARIANT(ratio-is-the-operators): a client makes the server record no larger share of its
//! requests than the operator's ratio, unless the operator trusts parents.
//!
//! # Why
//!
//! The SDK of OpenTelemetry has process-wide state, counts dropped spans where nobody can read them,
//! and takes headers of requests that the W3C text refuses. Of its work only the messages are
//! needed, which are ten; so they are declared in `otlp.rs`, and a test reads them with
//! OpenTelemetry's own library.

mod address;
mod collector;
mod config;
mod context;
mod exporter;
mod otlp;
mod shares;
mod span;
mod tracer;

pub use crate::traces::address::CollectorAddress;
pub use crate::traces::collector::TraceError;
pub use crate::traces::config::{ParentTrust, TracesConfig};
pub use crate::traces::context::RemoteParent;
pub use crate::traces::span::{AttributeValue, SpanKind, SpanName};
pub use crate::traces::tracer::{OpenSpan, TraceScope, Tracer};
