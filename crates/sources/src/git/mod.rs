//! Repositories of git, over the protocol that servers speak today (version 2), and the one before it.
//!
//! One commit is fetched, without its history. Servers that can leave out contents send the folders first, and then
//! the files of skills alone. So a skill of a huge repository costs what the skill costs.
//!
//! The lines of the protocol and the hashes are those of gitoxide. The conversation is two requests, which are written
//! here: that way they go through the gateway's own rules, and nothing can start a program, as gitoxide's transports
//! can for credentials. Packs are read here because their reader must not allocate what a pack claims.

mod object;
mod pack;
mod wire;

use std::collections::HashMap;

use gix_hash::ObjectId;

use crate::discover::skill_folders;
use crate::error::{SourceError, shown};
use crate::git::object::{EntryKind, TreeEntry, list_tree, tree_of_commit};
use crate::git::pack::{Object, Objects, read_pack};
use crate::git::wire::{Advertised, FetchOrder, GitConversation};
use crate::tree::Tree;
use crate::web::Web;
use crate::web_url::{UrlCredentials, WebUrl};

/// Fetches a commit, and adds the files of the skills below `path` to `tree`. Returns the commit.
pub(crate) fn fetch(
    web: &Web,
    url: &WebUrl,
    reference: Option<&str>,
    path: &str,
    credentials: Option<&UrlCredentials>,
    tree: &mut Tree,
) -> Result<String, SourceError> {
    let authorization = credentials.map(UrlCredentials::basic);
    let mut conversation = GitConversation::open(web, url, authorization)?;
    let target = resolve(&mut conversation, reference)?;
    let leaves_out = conversation.can_leave_out_contents();
    let mut objects = Objects::default();
    let order = FetchOrder { wanted: &[target], without_contents: leaves_out, is_commit: true };
    read_pack(conversation.fetch(&order)?, conversation.hash(), &mut objects)?;

    let commit = commit_of(target, &objects)?;
    let root = tree_of_commit(&object(&objects, commit)?.content, conversation.hash())?;
    let listed = list_tree(root, &objects, conversation.hash())?;
    let wanted = of_skills(&listed, path)?;
    if leaves_out {
        let missing: Vec<ObjectId> = missing_in(&wanted, &objects);
        if !missing.is_empty() {
            let order = FetchOrder { wanted: &missing, without_contents: false, is_commit: false };
            read_pack(conversation.fetch(&order)?, conversation.hash(), &mut objects)?;
        }
    }
    for entry in wanted {
        add(entry, &objects, tree)?;
    }
    Ok(commit.to_string())
}

/// The commit, tag or branch that a reference means.
fn resolve(
    conversation: &mut GitConversation<'_>,
    reference: Option<&str>,
) -> Result<ObjectId, SourceError> {
    let hash = conversation.hash();
    if let Some(text) = reference
        && text.len() == hash.len_in_hex()
        && let Ok(id) = ObjectId::from_hex(text.as_bytes())
    {
        return Ok(id);
    }
    let names: Vec<String> = match reference {
        None => vec!["HEAD".to_owned()],
        Some(text) if text.starts_with("refs/") => vec![text.to_owned()],
        Some(text) => vec![format!("refs/heads/{text}"), format!("refs/tags/{text}")],
    };
    let advertised = conversation.references(&names)?;
    let found = |name: &String| advertised.iter().find(|one: &&Advertised| one.name == *name);
    if let Some(found) = names.iter().find_map(found) {
        return Ok(found.peeled.unwrap_or(found.id));
    }
    let place = conversation.named();
    Err(SourceError::NotASource(match reference {
        None => format!("{place}: the repository is empty"),
        Some(text) => format!(
            "{place}: there is no branch or tag `{}`; of a commit, write all {} digits",
            shown(text),
            hash.len_in_hex()
        ),
    }))
}

fn object(objects: &Objects, id: ObjectId) -> Result<&Object, SourceError> {
    objects.found(&id).ok_or_else(|| {
        let problem = format!("the server did not send the object {id}");
        SourceError::damaged("the repository", problem)
    })
}

/// The commit that an object is, or that a tag points to.
fn commit_of(mut id: ObjectId, objects: &Objects) -> Result<ObjectId, SourceError> {
    const MAX_TAGS: usize = 8;
    for _tag in 0..MAX_TAGS {
        let found = object(objects, id)?;
        match found.kind {
            pack::Kind::Commit => return Ok(id),
            pack::Kind::Tag => id = object::target_of_tag(&found.content)?,
            pack::Kind::Tree | pack::Kind::Blob => break,
        }
    }
    Err(SourceError::damaged("the repository", "the reference leads to no commit"))
}

/// The entries in folders of skills below `path`.
fn of_skills<'l>(listed: &'l [TreeEntry], path: &str) -> Result<Vec<&'l TreeEntry>, SourceError> {
    let files = listed.iter().filter(|entry| entry.kind == EntryKind::File);
    let folders = skill_folders(files.map(|entry| entry.path.as_str()), path)?;
    // Folders above others: only the root can be one.
    let of_root = folders.iter().any(|folder| folder.is_empty() || folder == path);
    let wanted = listed.iter().filter(|entry| {
        let is_in = |folder: &String| crate::discover::below(&entry.path, folder).is_some();
        if of_root {
            crate::discover::below(&entry.path, path).is_some()
        } else {
            folders.iter().any(is_in)
        }
    });
    Ok(wanted.collect())
}

fn missing_in(wanted: &[&TreeEntry], objects: &Objects) -> Vec<ObjectId> {
    let mut missing: HashMap<ObjectId, ()> = HashMap::new();
    for entry in wanted {
        let has_content = matches!(entry.kind, EntryKind::File | EntryKind::Link);
        if has_content && objects.found(&entry.id).is_none() {
            missing.insert(entry.id, ());
        }
    }
    let mut missing: Vec<ObjectId> = missing.into_keys().collect();
    missing.sort();
    missing
}

fn add(entry: &TreeEntry, objects: &Objects, tree: &mut Tree) -> Result<(), SourceError> {
    match entry.kind {
        EntryKind::Submodule => {
            tree.note(&entry.path, "is a submodule: its files were not fetched");
            Ok(())
        }
        EntryKind::File => tree.add(&entry.path, object(objects, entry.id)?.content.to_vec()),
        EntryKind::Link => {
            let target = String::from_utf8_lossy(&object(objects, entry.id)?.content).into_owned();
            tree.link(&entry.path, &target)
        }
    }
}
