//! The files of a session: `GET /v1/sessions/{id}/files`, and below it `GET`, `HEAD`, `PUT` and `DELETE` of
//! a path.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use crate::http::blobs::conditions::Tags;
use crate::http::blobs::content_answer::ContentHead;
use crate::http::blobs::content_body::ContentBody;
use crate::http::blobs::query::Parameters;
use crate::http::edge::Edge;
use crate::http::sessions::file_upload::receive;
use crate::http::sessions::request::{Named, RequestAnswer, SessionRequest, Who, named, whole};
use wardian_service::{ChangeOrder, FileListOrder, Methods, SessionCalls, SessionFiles, Status};
use wardian_vocabulary::ids::CheckpointId;

/// Files of one page, unless the request says how many.
const DEFAULT_PAGE: u64 = 200;

/// A session and the path of a file in it.
type NamedFile = Result<Path<(String, String)>, PathRejection>;

/// When a file is changed, as the request says.
#[derive(Debug)]
pub(super) struct Conditions {
    if_checkpoint: Option<String>,
    wait_ms: Option<u64>,
}

impl Conditions {
    pub(super) fn order(&self) -> ChangeOrder<'_> {
        ChangeOrder { if_checkpoint: self.if_checkpoint.as_deref(), wait_ms: self.wait_ms }
    }
}

impl<M: Methods + Status + SessionCalls> SessionRequest<'_, M> {
    pub(super) fn files(&self) -> Result<SessionFiles<'_>, Box<Response>> {
        self.methods.session_files().map_err(|error| self.failed(&error))
    }

    /// The conditions of a change: parameters, or the checkpoint as an entity tag.
    pub(super) fn conditions(
        &self,
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Conditions, Box<Response>> {
        for unknown in
            [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE, header::IF_UNMODIFIED_SINCE]
        {
            if headers.contains_key(&unknown) {
                let message = format!(
                    "`{unknown}` is no condition of a change: use `If-Match` or `if_checkpoint` with a \
                     checkpoint of the session"
                );
                return Err(self.refused(&message));
            }
        }
        let parameters = self.parameters(query, &["if_checkpoint", "wait_ms"])?;
        let wait_ms = self.wait(&parameters)?;
        let named = parameters.find("if_checkpoint").map(str::to_owned);
        let tagged = checkpoint_of_tag(headers).map_err(|message| self.refused(message))?;
        if named.is_some() && tagged.is_some() && named != tagged {
            return Err(self.refused("`if_checkpoint` and `If-Match` name different checkpoints"));
        }
        Ok(Conditions { if_checkpoint: named.or(tagged), wait_ms })
    }

    /// How long the call waits for a cell that runs.
    fn wait(&self, parameters: &Parameters) -> Result<Option<u64>, Box<Response>> {
        const MAX_WAIT: u64 = 600_000;
        let wait = self.number(parameters, "wait_ms")?;
        if wait.is_some_and(|wait| wait > MAX_WAIT) {
            return Err(self.refused(&format!("`wait_ms` may be at most {MAX_WAIT}")));
        }
        Ok(wait)
    }

    async fn list_files(&self, id: &str, query: Option<&str>) -> RequestAnswer {
        let parameters = self.parameters(query, &["folder", "cursor", "limit", "wait_ms"])?;
        let order = FileListOrder {
            folder: parameters.find("folder").filter(|folder| !folder.is_empty()),
            cursor: parameters.find("cursor"),
            limit: self.number(&parameters, "limit")?.unwrap_or(DEFAULT_PAGE),
            wait_ms: self.wait(&parameters)?,
        };
        let listed = self.files()?.list(&self.caller, id, order).await;
        self.answer(StatusCode::OK, listed)
    }

    async fn read_file(
        self,
        (id, path): (&str, &str),
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> RequestAnswer {
        let parameters = self.parameters(query, &["wait_ms"])?;
        let wait = self.wait(&parameters)?;
        let read = self.files()?.read(&self.caller, id, path, wait).await;
        let file = read.map_err(|error| self.failed(&error))?;
        let (tag, name) = (file.digest.to_string(), path.rsplit('/').next().unwrap_or_default());
        let head = ContentHead { tag: &tag, kind: file.kind, name, size: file.size };
        let mut answer = head.answer(headers, &self.request_id)?;
        let part = head.part(headers, &mut answer, &self.request_id)?;
        *answer.body_mut() = Body::new(ContentBody::new(file, part, self.request_id));
        Ok(answer)
    }

    async fn write_file(&self, (id, path): (&str, &str), request: Request) -> RequestAnswer {
        let change = receive(self, (id, path), request).await?;
        let status = if change.replaced { StatusCode::OK } else { StatusCode::CREATED };
        self.json(status, &change)
    }

    async fn remove_file(
        &self,
        (id, path): (&str, &str),
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> RequestAnswer {
        let conditions = self.conditions(query, headers)?;
        let removed = self.files()?.remove(&self.caller, id, path, conditions.order()).await;
        self.answer(StatusCode::OK, removed)
    }
}

/// Answers `GET /v1/sessions/{id}/files`.
pub(crate) async fn list<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
    RawQuery(query): RawQuery,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.list_files(&named(id), query.as_deref()).await }.await)
}

/// Answers `GET` and `HEAD /v1/sessions/{id}/files/{path}`.
pub(crate) async fn read<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    names: NamedFile,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    let (id, path) = names_of(names);
    whole(async { begun?.read_file((&id, &path), query.as_deref(), &headers).await }.await)
}

/// Answers `PUT /v1/sessions/{id}/files/{path}`.
pub(crate) async fn write<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    names: NamedFile,
    request: Request,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    let (id, path) = names_of(names);
    whole(async { begun?.write_file((&id, &path), request).await }.await)
}

/// Answers `DELETE /v1/sessions/{id}/files/{path}`.
pub(crate) async fn remove<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    names: NamedFile,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    let (id, path) = names_of(names);
    whole(async { begun?.remove_file((&id, &path), query.as_deref(), &headers).await }.await)
}

/// The checkpoint that `If-Match` names, or why it names none.
fn checkpoint_of_tag(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    let tags = match Tags::read(headers, &header::IF_MATCH) {
        None => return Ok(None),
        Some(Tags::Listed(tags)) => tags,
        Some(Tags::Any) => Vec::new(),
    };
    let values = headers.get_all(header::IF_MATCH).iter();
    let mut texts = values.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    if texts.any(|text| text.trim_ascii_start().starts_with("W/")) {
        return Err(
            "`If-Match` compares whole states: name the checkpoint in double quotes, without `W/`",
        );
    }
    match tags.as_slice() {
        [tag] if CheckpointId::parse(tag).is_ok() => Ok(Some(tag.clone())),
        [_] => {
            Err("`If-Match` of a change names the checkpoint that the session must be at, like \
                    `c3-9f2a61b0c4d5e6f7`; the `ETag` of a file is no checkpoint")
        }
        _ => Err("`If-Match` must name one checkpoint, in double quotes"),
    }
}

/// The names in a path. A path that is not UTF-8 names nothing.
fn names_of(names: NamedFile) -> (String, String) {
    names.map_or_else(|_malformed| <_>::default(), |Path(names)| names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_match_names_one_checkpoint_or_is_refused_with_what_it_names() {
        let named = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::IF_MATCH, value.parse().unwrap());
            }
            checkpoint_of_tag(&headers)
        };
        let checkpoint = "c3-9f2a61b0c4d5e6f7";
        let quoted = format!("\"{checkpoint}\"");
        let quoted = quoted.as_str();
        assert_eq!(named(&[]), Ok(None));
        assert_eq!(named(&[quoted]), Ok(Some(checkpoint.to_owned())));
        for weak in [format!("W/{quoted}"), format!("{quoted}, W/{quoted}")] {
            assert!(named(&[weak.as_str()]).unwrap_err().contains("without `W/`"), "{weak}");
        }
        let digest = format!("\"{}\"", "1150".repeat(16));
        assert!(
            named(&[digest.as_str()]).unwrap_err().contains("`ETag` of a file is no checkpoint")
        );
        for values in [&["*"][..], &[checkpoint], &[""], &[quoted, quoted]] {
            assert!(named(values).unwrap_err().contains("one checkpoint"), "{values:?}");
        }
    }
}
