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
        let tagged = checkpoint_in(headers).map_err(|message| self.refused(message))?;
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

/// The checkpoint that `If-Match` names, or what is wrong with it.
fn checkpoint_in(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    let values = headers.get_all(header::IF_MATCH);
    if values.iter().any(|value| value.as_bytes().windows(3).any(|part| part == b"W/\"")) {
        return Err(
            "`If-Match` compares strongly, and a tag with `W/` is weak: send the checkpoint \
                    in double quotes alone",
        );
    }
    let tags = match Tags::read(headers, &header::IF_MATCH) {
        None => return Ok(None),
        Some(Tags::Any) => Vec::new(),
        Some(Tags::Listed(tags)) => tags,
    };
    match tags.as_slice() {
        [tag] if CheckpointId::parse(tag).is_ok() => Ok(Some(tag.clone())),
        [_] => Err("`If-Match` names the checkpoint that the session must be at (`checkpoint` of \
                    the session), in double quotes, and not the entity tag of a file"),
        _ => Err("`If-Match` must name one checkpoint of the session, in double quotes"),
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

/// The names in a path. A path that is not UTF-8 names nothing.
fn names_of(names: NamedFile) -> (String, String) {
    names.map_or_else(|_malformed| <_>::default(), |Path(names)| names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: &[&str]) -> Result<Option<String>, &'static str> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::IF_MATCH, value.parse().unwrap());
        }
        checkpoint_in(&headers)
    }

    #[test]
    fn a_change_is_tagged_with_one_checkpoint_or_refused() {
        let at = "c9-0011223344556677";
        assert_eq!(found(&[]), Ok(None));
        assert_eq!(found(&[&format!("\"{at}\"")]), Ok(Some(at.to_owned())));
        for (values, says) in [
            (vec![format!("W/\"{at}\"")], "is weak"),
            (vec![format!("\"{}\"", "ab".repeat(32))], "not the entity tag of a file"),
            (vec!["*".to_owned()], "must name one"),
            (vec![at.to_owned()], "must name one"),
            (vec![format!("\"{at}\", \"{at}\"")], "must name one"),
            (vec![format!("\"{at}\""), format!("W/\"{at}\"")], "is weak"),
        ] {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            assert!(found(&values).unwrap_err().contains(says), "{values:?}");
        }
    }
}
