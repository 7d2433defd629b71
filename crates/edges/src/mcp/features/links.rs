//! The files that a run has left, as links to resources: a client shows and fetches them by name.
//!
//! Paths and kinds come from a guest. They are short and few, so the library writes them as it writes
//! any text of a message: escaped.

use std::borrow::Cow;

use rmcp::model::{ContentBlock, Resource};
use serde::Deserialize;
use serde_json::value::RawValue;

use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::execution::FileResult;
use wardian_vocabulary::ids::BlobId;

/// Most links of an answer. The result names all files.
const MAX_LINKS: usize = 50;

/// The links to the files of a result.
pub(crate) fn links_of(result: &MethodResult) -> Vec<ContentBlock> {
    match result {
        MethodResult::Run(run) => {
            let links = run.files.iter().filter_map(link);
            links.take(MAX_LINKS).collect()
        }
        MethodResult::Repeated(kept) => links_of_kept(kept),
        _ => Vec::new(),
    }
}

/// The links to the files of a result that was kept, as the text of its JSON.
pub(crate) fn links_of_kept(result: &RawValue) -> Vec<ContentBlock> {
    #[derive(Deserialize)]
    struct Kept<'r> {
        #[serde(borrow, default)]
        files: Vec<File<'r>>,
    }
    #[derive(Deserialize)]
    struct File<'r> {
        #[serde(borrow)]
        path: Cow<'r, str>,
        size_bytes: u64,
        blob_id: Option<BlobId>,
        #[serde(borrow)]
        kind: Option<Cow<'r, str>>,
    }
    let Ok(Kept { files }) = serde_json::from_str(result.get()) else { return Vec::new() };
    let links = files.into_iter().filter_map(|file| {
        let id = file.blob_id?;
        Some(link_to(&file.path, file.size_bytes, &id, file.kind.as_deref()))
    });
    links.take(MAX_LINKS).collect()
}

fn link(file: &FileResult) -> Option<ContentBlock> {
    let id = file.blob_id.as_ref()?;
    Some(link_to(&file.path, file.size_bytes, id, file.kind.as_deref()))
}

fn link_to(path: &str, size: u64, id: &BlobId, kind: Option<&str>) -> ContentBlock {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut resource = Resource::new(id.to_string(), name).with_size(size);
    if name != path {
        resource = resource.with_title(path);
    }
    if let Some(kind) = kind {
        resource = resource.with_mime_type(kind);
    }
    ContentBlock::resource_link(resource)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use wardian_vocabulary::ids::Digest;

    #[test]
    fn a_kept_file_is_a_link_and_others_are_not() {
        let id = BlobId::of_digest(&Digest::of(b"x")).to_string();
        let file = |path: &str, id: Option<&str>| json!({"path": path, "size_bytes": 7, "blob_id": id, "kind": "text/csv"});
        let result = json!({
            "status": "completed",
            "output": {"files": [1]},
            "files": [file("out/a.csv", Some(&id)), file("b.csv", None), file("\"c\n", Some(&id))],
        });
        let result = serde_json::value::to_raw_value(&result).unwrap();
        let links = serde_json::to_value(links_of_kept(&result)).unwrap();
        assert_eq!(
            links,
            json!([
                {"type": "resource_link", "uri": id, "name": "a.csv", "title": "out/a.csv",
                 "mimeType": "text/csv", "size": 7},
                {"type": "resource_link", "uri": id, "name": "\"c\n", "mimeType": "text/csv",
                 "size": 7},
            ])
        );
        let none = serde_json::value::to_raw_value(&json!({"status": "failed"})).unwrap();
        assert!(links_of_kept(&none).is_empty());
    }
}
