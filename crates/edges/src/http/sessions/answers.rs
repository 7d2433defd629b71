//! `POST /v1/runs/{id}/answers`: answers to what a run asks while its call goes on.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::http::edge::Edge;
use crate::http::sessions::request::{Named, RequestAnswer, SessionRequest, Who, named, whole};
use crate::net::body::{CALL_FACTOR, ReadBody};
use wardian_formats::protocol::methods::run_answers::{RunAnswers, RunAnswersError};
use wardian_service::{Caller, Methods, SessionCalls, Status};
use wardian_vocabulary::budget::CallMemory;

impl<M: Methods + Status + SessionCalls> SessionRequest<'_, M> {
    async fn take_answers(&self, id: &str, request: Request) -> RequestAnswer {
        let ReadBody { bytes, charge } = self.body(request).await?;
        // The answers stay charged until the program has them.
        let memory = CallMemory::holding(charge);
        memory.shrink_to(bytes.len().saturating_mul(CALL_FACTOR));
        let answers = RunAnswers::read(&bytes).map_err(|fault| match fault {
            RunAnswersError::Params(fault) => self.failed(&fault.into()),
            RunAnswersError::Json(fault) => self.refused(&fault.to_string()),
        })?;
        let caller = Caller { memory, ..self.caller.clone() };
        self.answer(StatusCode::OK, self.methods.answer_run(&caller, id, answers))
    }
}

/// Answers `POST /v1/runs/{id}/answers`.
pub(crate) async fn take<M: Methods + Status + SessionCalls>(
    State(edge): State<Arc<Edge<M>>>,
    who: Who,
    id: Named,
    request: Request,
) -> Response {
    let begun = SessionRequest::begin(&edge, who);
    whole(async { begun?.take_answers(&named(id), request).await }.await)
}
