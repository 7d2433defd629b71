//! The extension for skills (SEP-2640): their lists of files with digests, and their folders.

use std::collections::BTreeSet;

use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, GetSkillRequestParams, GetSkillResult, ListResourcesResult, ListSkillsResult,
    PaginatedRequestParams, ReadResourceDirectoryRequestParams, Resource, Skill, SkillFrontmatter,
    SkillResource, SkillResources,
};
use rmcp::service::RequestContext;

use crate::mcp::features::skills::skill_uri::{folder_of, place_of, uri_of};
use crate::mcp::state::{McpState, error_of, internal};
use crate::mcp::wire::exchange::McpExchange;
use crate::net::respond::Failure;
use wardian_formats::protocol::members::Members;
use wardian_service::{PublishedSkill, ServiceError};
use wardian_vocabulary::budget::BudgetExhausted;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// The document of a skill.
pub(crate) const DOCUMENT: &str = "SKILL.md";

/// The kind of resource that a folder is.
const FOLDER: &str = "inode/directory";

/// Most skills of one page, and the number of files after which a page ends.
const PAGE: usize = 20;
const PAGE_FILES: usize = 1_000;

/// Maximum number of files of a skill that the extension knows, and of bytes of all of them.
const MAX_FILES: usize = 512;
const MAX_SIZE: u64 = 16 << 20;

/// Maximum number of entries of one page of a folder.
const PAGE_ENTRIES: usize = 200;

/// Memory for one file of a list besides its address: its digest, and their copies in JSON.
const OF_A_FILE: usize = 512;

/// Members of the frontmatter that the extension has by itself.
const OWN_MEMBERS: [&str; 2] = ["name", "description"];

/// A page of the skills, each with its files.
pub(crate) async fn list(
    state: &McpState,
    params: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListSkillsResult, ErrorData> {
    let exchange = McpExchange::of(&context.extensions).ok_or_else(|| internal("no exchange"))?;
    let (service, caller) = (state.service()?, &exchange.caller);
    let mut cursor = params.and_then(|params| params.cursor);
    let (mut skills, mut files) = (Vec::new(), 0_usize);
    while skills.len() < PAGE && files < PAGE_FILES {
        let page = service.published_skills(caller, 1, cursor.as_deref());
        let page = page.map_err(|error| state.error(caller, &error))?;
        for skill in page.skills {
            files = files.saturating_add(skill.files().count());
            skills.extend(published(&exchange, skill).await?);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let mut result = ListSkillsResult::with_all_items(skills);
    result.next_cursor = cursor;
    Ok(result)
}

/// One skill with its files.
pub(crate) async fn get(
    state: &McpState,
    params: &GetSkillRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetSkillResult, ErrorData> {
    let exchange = McpExchange::of(&context.extensions).ok_or_else(|| internal("no exchange"))?;
    let (service, caller) = (state.service()?, &exchange.caller);
    let unknown = || ErrorData::invalid_params("no skill has this URI", None);
    let place = place_of(&params.uri).filter(|place| place.path == DOCUMENT).ok_or_else(unknown)?;
    let skill = service.published_skill(caller, &place.skill);
    let skill = skill.map_err(|error| state.error(caller, &error))?;
    let skill = published(&exchange, skill).await?.ok_or_else(unknown)?;
    Ok(GetSkillResult::new(skill))
}

/// The files and folders in a folder of a skill.
pub(crate) fn read_folder(
    state: &McpState,
    params: &ReadResourceDirectoryRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    let exchange = McpExchange::of(&context.extensions).ok_or_else(|| internal("no exchange"))?;
    let (service, caller) = (state.service()?, &exchange.caller);
    let no_folder = || ErrorData::invalid_params("no folder has this URI", None);
    let place = place_of(&params.uri).ok_or_else(no_folder)?;
    let skill = service.published_skill(caller, &place.skill);
    let skill = skill.map_err(|error| state.error(caller, &error))?;
    let below = match place.path.as_str() {
        "" => String::new(),
        path => format!("{path}/"),
    };
    let mut entries = BTreeSet::new();
    for (path, _) in skill.files() {
        if let Some(rest) = path.strip_prefix(&below) {
            entries.insert(rest.split_inclusive('/').next().unwrap_or(rest));
        }
    }
    if entries.is_empty() {
        return Err(no_folder());
    }
    let after = params.cursor.as_deref().unwrap_or_default();
    let mut later = entries.into_iter().filter(|entry| *entry > after);
    let page: Vec<&str> = later.by_ref().take(PAGE_ENTRIES).collect();
    let next = later.next().and(page.last()).map(|last| (*last).to_owned());
    let entry = |entry: &&str| resource_of(&skill, &format!("{below}{entry}"));
    let mut result = ListResourcesResult::with_all_items(page.iter().filter_map(entry).collect());
    result.next_cursor = next;
    Ok(result)
}

/// A file of a skill, or a folder, whose path ends with a slash.
pub(crate) fn resource_of(skill: &PublishedSkill, path: &str) -> Option<Resource> {
    let uri = uri_of(skill.name().as_str(), path)?;
    if let Some(folder) = path.strip_suffix('/') {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        return Some(Resource::new(uri, name).with_mime_type(FOLDER));
    }
    if path == DOCUMENT {
        let document = document(skill);
        let resource = Resource::new(uri, folder_of(skill.name().as_str())?);
        let resource = resource.with_title(skill.title()).with_description(skill.description());
        let size = ByteCount::from(document.len()).as_u64();
        return Some(resource.with_mime_type("text/markdown").with_size(size));
    }
    let size = skill.files().find(|(known, _)| *known == path).map(|(_, size)| size)?;
    let name = path.rsplit('/').next().unwrap_or(path);
    let resource = Resource::new(uri, name).with_mime_type(PublishedSkill::kind_of(path));
    Some(resource.with_size(size))
}

/// The document of a skill as the extension wants it: its frontmatter begins with the name of the
/// folder and the description, which the author may have written under other names.
pub(crate) fn document(skill: &PublishedSkill) -> String {
    let name = folder_of(skill.name().as_str()).unwrap_or_default();
    let mut text = String::from("---\n");
    let mut add = |key: &str, value: &str| {
        // Values of JSON are values of YAML.
        text.push_str(&format!("{key}: {value}\n"));
    };
    add("name", &serde_json::to_string(&name).unwrap_or_default());
    add("description", &serde_json::to_string(skill.description()).unwrap_or_default());
    let members = Members::split(skill.frontmatter().get()).unwrap_or_default();
    for (key, value) in members.0.iter().filter(|(key, _)| !OWN_MEMBERS.contains(&key.as_ref())) {
        add(&serde_json::to_string(key).unwrap_or_default(), value.get());
    }
    text.push_str("---\n\n");
    text.push_str(skill.document_body());
    text
}

/// The content of a file of a skill.
pub(crate) fn content<'s>(
    skill: &'s PublishedSkill,
    path: &str,
    document: &'s mut String,
) -> Result<&'s [u8], ServiceError> {
    if path == DOCUMENT {
        *document = self::document(skill);
        return Ok(document.as_bytes());
    }
    skill.read_file(path)
}

/// A skill with its files; `None` if the extension knows no such name, or no skill so large. Digests
/// are computed on another thread.
async fn published(
    exchange: &McpExchange,
    skill: PublishedSkill,
) -> Result<Option<Skill>, ErrorData> {
    let (Some(uri), Some(name)) =
        (uri_of(skill.name().as_str(), DOCUMENT), folder_of(skill.name().as_str()))
    else {
        return Ok(None);
    };
    let total = skill.files().map(|(_, size)| size).fold(0, u64::saturating_add);
    if skill.files().count() > MAX_FILES || total > MAX_SIZE {
        return Ok(None);
    }
    let memory = &exchange.caller.memory;
    let of_one = |path: &str| path.len().saturating_mul(9).saturating_add(OF_A_FILE);
    let size: usize = skill.files().map(|(path, _)| of_one(path)).sum();
    memory.reserve(ByteCount::from(size)).map_err(no_room)?;
    let mut frontmatter = SkillFrontmatter::new(name, skill.description());
    let further = further_members(&skill);
    if further.len() > 2 {
        let laid = exchange.object(&further.into());
        let laid = laid.map_err(|fault| error_of(fault.into_failure(&exchange.caller)))?;
        frontmatter.extra = laid;
    }
    let hashed = memory.on_thread(move || digests(&skill)).await;
    let files = hashed.map_err(|_broken| internal("the files were not read"))?;
    Ok(Some(Skill::new(uri, frontmatter, SkillResources::Files(files))))
}

fn no_room(fault: BudgetExhausted) -> ErrorData {
    error_of(Failure::overloaded(&fault.to_string()))
}

/// The members of the frontmatter besides the name and the description, as the text of an object.
fn further_members(skill: &PublishedSkill) -> Vec<u8> {
    let members = Members::split(skill.frontmatter().get()).unwrap_or_default();
    let mut text = vec![b'{'];
    for (key, value) in members.0.iter().filter(|(key, _)| !OWN_MEMBERS.contains(&key.as_ref())) {
        if text.len() > 1 {
            text.push(b',');
        }
        // Writing to a vector cannot fail.
        serde_json::to_writer(&mut text, key).ok();
        text.push(b':');
        text.extend_from_slice(value.get().as_bytes());
    }
    text.push(b'}');
    text
}

fn digests(skill: &PublishedSkill) -> Vec<SkillResource> {
    let mut document = String::new();
    let mut files = Vec::new();
    for (path, _) in skill.files() {
        let Some(uri) = uri_of(skill.name().as_str(), path) else { continue };
        let Ok(bytes) = content(skill, path, &mut document) else { continue };
        let digest = format!("sha256:{}", Digest::of(bytes));
        files.push(SkillResource::new(uri, digest, ByteCount::from(bytes.len()).as_u64()));
    }
    files
}
