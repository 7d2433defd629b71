//! The listing of a server, page by page, and the parameters of a call.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::fault::Fault;
use crate::mcp::asked::Asked;
use crate::mcp::message::params;
use crate::mcp::peer::McpPeer;
use crate::offered::{Listing, ToolDefinition};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// Most pages of a listing. A server could give a further cursor for ever.
const MAX_PAGES: usize = 64;

/// Longest cursor, in bytes.
const MAX_CURSOR: usize = 4 << 10;

#[derive(Deserialize)]
struct ToolPage<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow, default, rename = "nextCursor")]
    next_cursor: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ToolOnPage<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    description: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "inputSchema")]
    input_schema: &'a RawValue,
    #[serde(borrow, default, rename = "outputSchema")]
    output_schema: Option<&'a RawValue>,
    #[serde(default)]
    annotations: Option<Annotations>,
}

#[derive(Deserialize)]
struct NamedTool<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Annotations {
    #[serde(default, rename = "readOnlyHint")]
    is_read_only: Option<bool>,
    #[serde(default, rename = "destructiveHint")]
    is_destructive: Option<bool>,
}

#[derive(Serialize)]
struct Cursor<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
}

/// Lists the tools of a server: pages of `bound` bytes together, and `most` tools.
pub(crate) async fn list(
    server: &McpPeer,
    tenant: &TenantId,
    (bound, most): (ByteCount, usize),
    deadline: Instant,
    memory: &CallMemory,
) -> Result<Listing, Fault> {
    let mut listing = Listing::new(most);
    let (mut left, mut cursor) = (bound.as_u64(), None::<String>);
    for _page in 0..MAX_PAGES {
        let params = params(&Cursor { cursor: cursor.as_deref() })?;
        let bound = ByteCount::bytes(left);
        let asked =
            Asked { tenant, method: "tools/list", params: &params, bound, deadline, memory };
        let page = Box::pin(server.ask(asked)).await?;
        let size = u64::try_from(page.get().len()).unwrap_or(u64::MAX);
        left = left.checked_sub(size).ok_or(Fault::TooLarge)?;
        let next = add_page(&mut listing, &page)?;
        let Some(next) = next else { return Ok(listing) };
        if next.len() > MAX_CURSOR || cursor.as_deref() == Some(next.as_str()) {
            return Err(Fault::broken("the listing of its server has no end"));
        }
        cursor = Some(next);
    }
    Err(Fault::broken("the listing of its server has no end"))
}

/// Adds the tools of a page, and returns the cursor of the next one.
fn add_page(listing: &mut Listing, page: &RawValue) -> Result<Option<String>, Fault> {
    let malformed = |_| Fault::broken("the listing of its server is malformed");
    let page: ToolPage<'_> = serde_json::from_str(page.get()).map_err(malformed)?;
    for tool in page.tools {
        match serde_json::from_str::<ToolOnPage<'_>>(tool.get()) {
            Ok(tool) => listing.add(definition(&tool)),
            Err(_) => {
                let named = serde_json::from_str::<NamedTool<'_>>(tool.get());
                let name = named.as_ref().map_or("?", |tool| &tool.name);
                listing.leave_out(name, "it is not listed as the protocol says");
            }
        }
    }
    Ok(page.next_cursor.map(Cow::into_owned))
}

fn definition(tool: &ToolOnPage<'_>) -> ToolDefinition {
    let is_destructive = tool.annotations.as_ref().is_some_and(|annotations| {
        annotations.is_destructive == Some(true) && annotations.is_read_only != Some(true)
    });
    ToolDefinition {
        name: tool.name.clone().into_owned(),
        description: tool.description.clone().unwrap_or_default().into_owned(),
        input_schema: tool.input_schema.to_owned(),
        output_schema: tool.output_schema.map(ToOwned::to_owned),
        is_destructive,
    }
}

#[derive(Serialize)]
struct Call<'a> {
    name: &'a str,
    arguments: &'a RawValue,
}

/// The parameters of `tools/call`.
pub(crate) fn params_of_call(name: &str, arguments: &RawValue) -> Result<Box<RawValue>, Fault> {
    params(&Call { name, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_tools_and_the_next_cursor() {
        let page = r#"{"tools":[
            {"name":"find","description":"Finds.","inputSchema":{"type":"object"},"outputSchema":{}},
            {"name":"drop","inputSchema":{},"annotations":{"destructiveHint":true}},
            {"name":"look","inputSchema":{},"annotations":{"destructiveHint":true,"readOnlyHint":true}},
            {"name":"bad"}],"nextCursor":"2"}"#;
        let page = RawValue::from_string(page.to_owned()).unwrap();
        let mut listing = Listing::new(10);
        assert_eq!(add_page(&mut listing, &page).unwrap(), Some("2".to_owned()));
        assert_eq!(listing.left_out(), 1);
        assert_eq!(listing.reasons(), ["`bad`: it is not listed as the protocol says"]);
        assert_eq!(listing.find("find").unwrap().output_schema.as_ref().unwrap().get(), "{}");
        for (name, is_destructive) in [("find", false), ("drop", true), ("look", false)] {
            assert_eq!(listing.find(name).unwrap().is_destructive, is_destructive, "{name}");
        }
        let wrong = RawValue::from_string("[]".to_owned()).unwrap();
        assert!(add_page(&mut listing, &wrong).is_err());
    }

    #[test]
    fn a_call_has_its_arguments_as_they_are() {
        let arguments = RawValue::from_string(r#"{"n":1.0e2}"#.to_owned()).unwrap();
        let params = params_of_call("a/b", &arguments).unwrap();
        assert_eq!(params.get(), r#"{"name":"a/b","arguments":{"n":1.0e2}}"#);
    }
}
