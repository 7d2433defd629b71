//! Answers for which no cell waits any more.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::sleep;

use wardian_formats::protocol::methods::asking::AnswerParam;
use wardian_sessions::{CellState, Sessions, SessionsError, StoredCell};
use wardian_vocabulary::ids::{SessionId, TenantId};

/// Why a cell has left no trace of which no result is kept: it was running, or waited in the middle of a
/// call.
const UNTOLD: &str =
    "the server was restarted while the cell waited, or its caller left while it was running";

/// How soon a call looks again whether its cell goes on elsewhere.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The result of a cell that left no trace, as far as it says why.
#[derive(Deserialize)]
struct KeptEnd {
    session: Option<KeptFate>,
}

#[derive(Deserialize)]
struct KeptFate {
    reason: Option<String>,
}

/// The cell that answers are for, by the first of them: `c3-r1` is a request of cell 3.
pub(crate) fn cell_of(answers: &[AnswerParam]) -> Option<u32> {
    let (cell, _request) = answers.first()?.id.strip_prefix('c')?.split_once("-r")?;
    cell.parse().ok()
}

/// The error for answers to a cell of this number in a session of which none waits.
pub(crate) async fn not_waiting(
    store: &Sessions,
    tenant: &TenantId,
    session: &SessionId,
    cell: Option<u32>,
) -> SessionsError {
    let after = cell.and_then(|cell| cell.checked_sub(1));
    if let (Some(cell), Some(after)) = (cell, after) {
        match store.cells(tenant, session, after, 1).await {
            Err(cause) => return cause,
            Ok(found) => {
                if let Some(reason) = reason_of(&found, cell) {
                    return SessionsError::WaitOver { session: session.clone(), cell, reason };
                }
            }
        }
    }
    SessionsError::NotWaiting { session: session.clone() }
}

/// Why the cell of this number has left no trace; `None` if it has left one, or does not exist.
fn reason_of(found: &[StoredCell], number: u32) -> Option<String> {
    let cell = found.first().filter(|cell| cell.number == number)?;
    if cell.state != CellState::RolledBack {
        return None;
    }
    let end: Option<KeptEnd> =
        cell.result.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let reason = end.and_then(|end| end.session).and_then(|fate| fate.reason);
    Some(reason.unwrap_or_else(|| UNTOLD.to_owned()))
}

/// Waits until a cell that has come to wait, and is not held, was ended or answered before its call could hear
/// of it. Otherwise this never returns.
pub(crate) async fn until_over(
    store: &Sessions,
    tenant: &TenantId,
    session: &SessionId,
    cell: Option<u32>,
) {
    let after = cell.and_then(|cell| cell.checked_sub(1)).unwrap_or(u32::MAX);
    loop {
        match store.cells(tenant, session, after, 1).await {
            Ok(found) => match found.first().map(|cell| cell.state) {
                // It goes on elsewhere, or is about to be ended.
                Some(CellState::Running) => sleep(LOOK_AGAIN).await,
                Some(CellState::Kept | CellState::RolledBack) => return,
                Some(CellState::Waiting) | None => break,
            },
            Err(SessionsError::NotFound { .. } | SessionsError::Expired { .. }) => return,
            Err(_) => break,
        }
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cell(state: CellState, result: Option<&str>) -> [StoredCell; 1] {
        let result = result.map(str::to_owned);
        let (source, fuel, checkpoint) = (None, None, None);
        [StoredCell {
            number: 3,
            source,
            state,
            result,
            fuel,
            checkpoint,
            began_ms: 1,
            began_after: 2,
        }]
    }

    #[test]
    fn the_first_answer_names_the_cell() {
        let named = |id: &str| {
            let answers = json!([{"id": id}]).to_string();
            cell_of(&serde_json::from_str::<Vec<AnswerParam>>(&answers).unwrap())
        };
        assert_eq!((named("c3-r1"), named("c12-r7")), (Some(3), Some(12)));
        assert!(
            ["", "3-r1", "c-r1", "c3", "c99999999999-r1"].map(named).iter().all(Option::is_none)
        );
        assert_eq!(cell_of(&[]), None);
    }

    #[test]
    fn a_cell_that_left_no_trace_says_why() {
        let result = r#"{"status": "failed", "session": {"id": "x", "reason": "so"}}"#;
        let rolled_back = cell(CellState::RolledBack, Some(result));
        assert_eq!(reason_of(&rolled_back, 3).as_deref(), Some("so"));
        assert_eq!(reason_of(&rolled_back, 2), None, "it is another one");
        for result in [None, Some("{}"), Some("other")] {
            let reason = reason_of(&cell(CellState::RolledBack, result), 3);
            assert_eq!(reason.as_deref(), Some(UNTOLD), "{result:?}");
        }
        assert_eq!(reason_of(&cell(CellState::Kept, Some(result)), 3), None);
        assert_eq!(reason_of(&[], 3), None);
    }
}
