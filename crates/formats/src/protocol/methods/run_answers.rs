//! Answers to a run while its call goes on: the body of `POST /v1/runs/{id}/answers`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::protocol::cell_parameters::RUN_ANSWERS;
use crate::protocol::check::check;
use crate::protocol::methods::asking::AnswerParam;
use crate::protocol::params_error::ParamsError;
use crate::protocol::strict::{self, StrictError};

/// Answers to some of what a run has asked whose call goes on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunAnswers {
    /// The answers.
    pub answers: Vec<AnswerParam>,
}

impl RunAnswers {
    /// Reads the body of a request.
    ///
    /// # Errors
    ///
    /// It is no JSON with a single meaning, or not the object that it should be.
    pub fn read(body: &[u8]) -> Result<Self, RunAnswersError> {
        let text = strict::read(body)?.text;
        let no_object = || ParamsError::wrong("answers", "a member of an object", "other JSON");
        let whole: &RawValue = serde_json::from_str(text).map_err(|_other| no_object())?;
        Ok(check(&RUN_ANSWERS, Some(whole))?.read(&RUN_ANSWERS)?)
    }
}

/// Why a body holds no answers.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunAnswersError {
    /// It is no JSON with a single meaning.
    #[error(transparent)]
    Json(#[from] StrictError),
    /// It is other JSON.
    #[error(transparent)]
    Params(#[from] ParamsError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_a_body_are_read_as_those_of_a_call() {
        let body = br#"{"answers": [{"id": "c1-r1", "output": {"a": 1.0}}, {"id": "c1-r2"}]}"#;
        let read = RunAnswers::read(body).unwrap();
        assert_eq!(read.answers[0].output.as_ref().unwrap().get(), r#"{"a": 1.0}"#);
        assert!(read.answers[1].output.is_none());
        for (wrong, words) in [
            ("{}", "`answers` is missing"),
            ("[]", "must be"),
            (r#"{"answers": [{}]}"#, "`answers[0].id` is missing"),
            (r#"{"answers": [], "x": 1}"#, "unknown parameter `x`"),
            (r#"{"answers": [{"id": "a", "output": {"a": 1, "a": 2}}]}"#, "a"),
            ("{", ""),
        ] {
            let message = RunAnswers::read(wrong.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
