//! Files of skills, blobs and files of the user, as resources.

use std::io::{self, Read as _};

use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use crate::mcp::features::images;
use crate::mcp::features::local_files::{FILE, LocalFolders};
use crate::mcp::features::skills::list::{DOCUMENT, content, resource_of};
use crate::mcp::features::skills::skill_uri::{SCHEME, place_of};
use crate::mcp::state::{McpState, error_of, internal};
use crate::mcp::wire::exchange::{LayFault, McpExchange};
use crate::net::respond::Failure;
use wardian_service::{BlobListing, Caller, PublishedSkill, Right, ServiceError, Transfers as _};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::units::ByteCount;

/// The addresses of blobs are their ids.
const BLOB: &str = "blob:";

/// Resources of one page.
const PAGE: usize = 100;

/// Largest blob that is read as a resource. Others are read in parts, by `read_blob` or over HTTP.
const MAX_BLOB: ByteCount = ByteCount::mebibytes(4);

/// Cursors of the two parts of the list: skills come before blobs.
const SKILLS: &str = "skills:";
const BLOBS: &str = "blobs:";

/// The forms of addresses.
pub(crate) fn templates(state: &McpState) -> ListResourceTemplatesResult {
    let files = ResourceTemplate::new("skill://{skill}/{folder}/{+path}", "skill-file");
    let files = files
        .with_title("Files of skills")
        .with_description("A file of a skill; the folder is the skill's name with dashes for dots");
    let blobs = ResourceTemplate::new("blob:{id}", "blob");
    let blobs = blobs
        .with_title("Blobs")
        .with_description("Data that was stored by `create_blob` or by a run, up to 4 MiB");
    let mut templates = vec![files, blobs];
    if state.local.as_ref().is_some_and(LocalFolders::has_files) {
        let local = ResourceTemplate::new("file:{+path}", "user-file");
        let told = "A file in the folder that the user has opened, by its path in there; runs \
                    mount it with `input_blobs: [\"file:PATH\"]`";
        templates.push(local.with_title("Files of the user").with_description(told));
    }
    ListResourceTemplatesResult::with_all_items(templates)
}

/// A page of the documents of skills, and after them of blobs.
pub(crate) async fn list(
    state: &McpState,
    params: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    let exchange = McpExchange::of(&context.extensions).ok_or_else(|| internal("no exchange"))?;
    let (service, caller) = (state.service()?, &exchange.caller);
    let cursor = params.and_then(|params| params.cursor);
    let cursor = cursor.as_deref();
    let in_blobs = cursor.and_then(|cursor| cursor.strip_prefix(BLOBS));
    let in_skills = cursor.map(|cursor| cursor.strip_prefix(SKILLS).unwrap_or(cursor));
    if in_blobs.is_none() && caller.rights.contains(Right::Discover) {
        let page = service.published_skills(caller, PAGE, in_skills);
        let page = page.map_err(|error| state.error(caller, &error))?;
        let documents = page.skills.iter().filter_map(|skill| resource_of(skill, DOCUMENT));
        // The user's files come first, on the first page.
        let files = state.local.as_ref().filter(|_| in_skills.is_none());
        let files = files.map(LocalFolders::resources).unwrap_or_default();
        let all = files.into_iter().chain(documents).collect();
        let mut result = ListResourcesResult::with_all_items(all);
        let more = page.next_cursor.map(|cursor| format!("{SKILLS}{cursor}"));
        let blobs = caller.rights.contains(Right::Blobs).then(|| BLOBS.to_owned());
        result.next_cursor = more.or(blobs);
        return Ok(result);
    }
    if !caller.rights.contains(Right::Blobs) {
        return Ok(ListResourcesResult::default());
    }
    let after = in_blobs.filter(|cursor| !cursor.is_empty());
    let page = service.transfers().list(caller, None, after, PAGE).await;
    let page = page.map_err(|error| state.error(caller, &error))?;
    let mut result =
        ListResourcesResult::with_all_items(page.blobs.into_iter().map(of_blob).collect());
    result.next_cursor = page.next_cursor.map(|cursor| format!("{BLOBS}{cursor}"));
    Ok(result)
}

fn of_blob(blob: BlobListing) -> Resource {
    let id = blob.id.to_string();
    let name = blob.name.map_or_else(|| id.clone(), |name| name.to_string());
    let resource = Resource::new(id, name).with_size(blob.size);
    match blob.kind {
        Some(kind) => resource.with_mime_type(kind),
        None => resource,
    }
}

/// Reads a file of a skill, or a blob.
pub(crate) async fn read(
    state: &McpState,
    params: &ReadResourceRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<ReadResourceResult, ErrorData> {
    let exchange = McpExchange::of(&context.extensions).ok_or_else(|| internal("no exchange"))?;
    let uri = params.uri.as_str();
    let contents = if uri.starts_with(FILE) && state.local.is_some() {
        read_local(state, &exchange, uri).await?
    } else if uri.starts_with(BLOB) {
        read_blob(state, &exchange, uri).await?
    } else if uri.starts_with(SCHEME) {
        read_file(state, &exchange, uri)?
    } else {
        return Err(not_found("resources are `skill://…` and `blob:…`", uri));
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn read_file(
    state: &McpState,
    exchange: &McpExchange,
    uri: &str,
) -> Result<ResourceContents, ErrorData> {
    let (service, caller) = (state.service()?, &exchange.caller);
    let place = place_of(uri).ok_or_else(|| not_found("no file has this URI", uri))?;
    let found = service.published_skill(caller, &place.skill);
    let skill = found.map_err(|error| missing(state, caller, &error, uri))?;
    let mut document = String::new();
    let bytes = content(&skill, &place.path, &mut document);
    let bytes = bytes.map_err(|error| missing(state, caller, &error, uri))?;
    let kind = PublishedSkill::kind_of(&place.path);
    let laid = laid(exchange, uri, bytes, [bytes].into_iter());
    Ok(laid.map_err(|fault| error_of(fault.into_failure(caller)))?.with_mime_type(kind))
}

/// Reads a file of the user.
async fn read_local(
    state: &McpState,
    exchange: &McpExchange,
    uri: &str,
) -> Result<ResourceContents, ErrorData> {
    let caller = &exchange.caller;
    let Some(local) = &state.local else { return Err(internal("no folders")) };
    let (file, _) = local.find(uri).map_err(|failure| {
        ErrorData::resource_not_found(failure.body.message.clone(), Some(json!({"uri": uri})))
    })?;
    let refused = |kind, message: String| error_of(Failure::of_kind(kind, message));
    let size = file.metadata().map_or(u64::MAX, |found| found.len());
    if size > MAX_BLOB.as_u64() {
        let message = format!("a resource may have {MAX_BLOB}: mount this file with `input_blobs`");
        return Err(refused(ErrorKind::TooLarge, message));
    }
    let room = caller.memory.reserve(MAX_BLOB);
    room.map_err(|full| refused(ErrorKind::Overloaded, full.to_string()))?;
    let reading = move || {
        let mut whole = Vec::new();
        file.take(MAX_BLOB.as_u64()).read_to_end(&mut whole).map(|_| whole)
    };
    let read = caller.memory.on_thread(reading).await.map_err(io::Error::other).flatten();
    let whole = read.map_err(|fault| {
        refused(ErrorKind::InvalidParams, format!("the file cannot be read: {fault}"))
    })?;
    let laid = laid(exchange, uri, &whole, [whole.as_slice()].into_iter());
    laid.map_err(|fault| error_of(fault.into_failure(caller)))
}

async fn read_blob(
    state: &McpState,
    exchange: &McpExchange,
    id: &str,
) -> Result<ResourceContents, ErrorData> {
    let (service, caller) = (state.service()?, &exchange.caller);
    let described = service.transfers().describe(caller, id).await;
    let described = described.map_err(|error| missing(state, caller, &error, id))?;
    if described.size > MAX_BLOB.as_u64() {
        let message = format!("a resource may have {MAX_BLOB}: read this blob in parts");
        return Err(error_of(Failure::of_kind(ErrorKind::TooLarge, message)));
    }
    let pieces = images::content(service, caller, id).await;
    let pieces = pieces.map_err(|error| missing(state, caller, &error, id))?;
    let parts = || pieces.iter().map(AsRef::as_ref);
    let room = caller.memory.reserve(ByteCount::bytes(described.size));
    room.map_err(|full| error_of(Failure::of_kind(ErrorKind::Overloaded, full.to_string())))?;
    let whole = parts().collect::<Vec<&[u8]>>().concat();
    let laid = laid(exchange, id, &whole, parts());
    Ok(laid.map_err(|fault| error_of(fault.into_failure(caller)))?.with_mime_type(described.kind))
}

/// Lays a content into the answer: as text if it is UTF-8, and as base64 otherwise.
fn laid<'b, I: Iterator<Item = &'b [u8]>>(
    exchange: &McpExchange,
    uri: &str,
    whole: &[u8],
    parts: I,
) -> Result<ResourceContents, LayFault> {
    Ok(match std::str::from_utf8(whole) {
        Ok(text) => ResourceContents::text(exchange.text(text)?, uri),
        Err(_) => ResourceContents::blob(exchange.base64(parts)?, uri),
    })
}

/// The error for something that a client asks for by its address.
fn missing(state: &McpState, caller: &Caller, error: &ServiceError, uri: &str) -> ErrorData {
    let mut known = state.error(caller, error);
    if let Some(Value::Object(data)) = &mut known.data {
        data.insert("uri".to_owned(), uri.into());
    }
    match error.kind() {
        ErrorKind::SkillNotFound
        | ErrorKind::FileNotFound
        | ErrorKind::BlobNotFound
        | ErrorKind::InvalidParams => ErrorData::resource_not_found(known.message, known.data),
        _ => known,
    }
}

fn not_found(message: &'static str, uri: &str) -> ErrorData {
    ErrorData::resource_not_found(message, Some(json!({"uri": uri})))
}
