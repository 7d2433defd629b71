//! The description of the eight methods for programs that generate or check clients: an OpenRPC
//! document, as `rpc.discover` and `GET /openrpc.json` serve it.
//!
//! Parameters come from the tool table, kinds of errors from the table of error codes. The schemas
//! of results stand in `schemas.json`; a test compares them with the types that are sent.
//!
//! INVARIANT(eight-methods): the document lists the tools and nothing else. `rpc.discover` is not a
//! tool.

mod components;
mod method;
mod output_schema;

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::protocol::error_codes::WireError;
use crate::protocol::methods::limit_bounds::LimitBounds;
use crate::protocol::openrpc::components::{Components, KindOfError};
use crate::protocol::openrpc::method::Method;
use crate::protocol::tools::TOOLS;

pub use crate::protocol::openrpc::output_schema::output_schema;

/// The name of the method that returns the document.
pub(crate) const DISCOVER: &str = "rpc.discover";

/// The version of OpenRPC: the newest that the published schema of documents allows.
const OPENRPC: &str = "1.3.2";

/// The document of a server with these bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRpcDocument {
    bounds: LimitBounds,
}

impl OpenRpcDocument {
    /// The document of a server that accepts limits within `bounds`.
    #[must_use]
    pub const fn new(bounds: LimitBounds) -> Self {
        Self { bounds }
    }
}

impl Serialize for OpenRpcDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bounds = &self.bounds;
        let methods: Vec<_> = TOOLS.iter().map(|tool| Method { tool, bounds }).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("openrpc", OPENRPC)?;
        map.serialize_entry("info", &Info::OF_THIS)?;
        map.serialize_entry("methods", &methods)?;
        map.serialize_entry("components", &Components)?;
        map.serialize_entry("x-error-kinds", &WireError::ALL.map(KindOfError::of))?;
        map.end()
    }
}

#[derive(Serialize)]
struct Info {
    title: &'static str,
    description: &'static str,
    version: &'static str,
    license: License,
}

#[derive(Serialize)]
struct License {
    name: &'static str,
}

impl Info {
    const OF_THIS: Self = Self {
        title: "Wardian",
        description: "The Skills Protocol: discover, inspect and execute skills, and run code, in fresh sandboxes.",
        version: env!("CARGO_PKG_VERSION"),
        license: License { name: "Apache-2.0" },
    };
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
