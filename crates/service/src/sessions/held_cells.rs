//! Cells that wait for their callers in the middle of a call. Their state is what a worker holds, and cannot
//! be saved; so they end with their worker, with the server, or when nobody answers for long.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;
use tracing::debug;

use crate::error::ServiceError;
use crate::sessions::asked::AskedCell;
use wardian_dispatch::HeldGuest;
use wardian_formats::job::session::asking::JsonText;
use wardian_formats::protocol::methods::asking::AnswerParam;
use wardian_sessions::{CellEnd, CellState, SessionTurn, StoredCell};
use wardian_vocabulary::ids::SessionId;

/// A cell that waits, with the turn of its session.
#[derive(Debug)]
pub(crate) struct HeldCell<G = HeldGuest, T = SessionTurn> {
    pub(crate) turn: T,
    pub(crate) guest: G,
    /// True if the guest has confirmed all that it was ordered to.
    pub(crate) is_reseeded: bool,
    /// The number of the cell.
    pub(crate) number: u32,
    pub(crate) asked: AskedCell,
    /// The result of its parts so far.
    pub(crate) result: Option<String>,
}

/// A cell that waited, and what its guest is answered with.
pub(crate) type ContinuedCell<G, T> = (HeldCell<G, T>, JsonText);

/// The cells of a server that wait so, by session.
#[derive(Debug)]
pub(crate) struct HeldCells<G = HeldGuest, T = SessionTurn>(Mutex<HeldTable<G, T>>);

#[derive(Debug)]
struct HeldTable<G, T> {
    /// With the number of each wait.
    cells: HashMap<SessionId, (u64, HeldCell<G, T>)>,
    /// Counts waits.
    waits: u64,
}

impl<G, T> Default for HeldCells<G, T> {
    fn default() -> Self {
        Self(Mutex::new(HeldTable { cells: HashMap::new(), waits: 0 }))
    }
}

impl<G, T> HeldCells<G, T> {
    /// Keeps a cell that waits. Returns the number of its wait.
    fn put(&self, session: SessionId, cell: HeldCell<G, T>) -> u64 {
        let mut table = self.0.lock();
        table.waits = table.waits.saturating_add(1);
        let wait = table.waits;
        let before = table.cells.insert(session, (wait, cell));
        drop(table);
        // A session has one turn, so there is none.
        drop(before);
        wait
    }

    /// Takes the cell of a session that waits, whatever it has asked.
    pub(crate) fn take(&self, session: &SessionId) -> Option<HeldCell<G, T>> {
        self.0.lock().cells.remove(session).map(|(_, cell)| cell)
    }

    /// Takes the cell of a session, if it is in this wait.
    fn take_late(&self, session: &SessionId, wait: u64) -> Option<HeldCell<G, T>> {
        let mut table = self.0.lock();
        if table.cells.get(session).is_none_or(|(present, _)| *present != wait) {
            return None;
        }
        table.cells.remove(session).map(|(_, cell)| cell)
    }

    /// The number of the cell of a session that waits.
    pub(crate) fn number_of(&self, session: &SessionId) -> Option<u32> {
        self.0.lock().cells.get(session).map(|(_, cell)| cell.number)
    }

    /// Says of a session's cell that it waits, and what it has said so far. In the store it is running.
    pub(crate) fn show(&self, session: &SessionId, cells: &mut [StoredCell]) {
        let table = self.0.lock();
        let Some((_, held)) = table.cells.get(session) else { return };
        if let Some(cell) = cells.iter_mut().find(|cell| cell.number == held.number) {
            cell.state = CellState::Waiting;
            cell.result.clone_from(&held.result);
        }
    }

    /// Takes the cell of a session that waits, with these answers for its guest. `None` if there is none.
    ///
    /// # Errors
    ///
    /// They are no answers to what the cell has asked. It waits on.
    pub(crate) fn answer(
        &self,
        session: &SessionId,
        answers: &mut Vec<AnswerParam>,
    ) -> Result<Option<ContinuedCell<G, T>>, ServiceError> {
        let mut table = self.0.lock();
        let Some((_, cell)) = table.cells.get(session) else { return Ok(None) };
        let answers = cell.asked.answered(cell.number, std::mem::take(answers))?;
        let cell = table.cells.remove(session).map(|(_, cell)| cell);
        Ok(cell.map(|cell| (cell, answers)))
    }
}

impl HeldCells {
    /// Keeps a cell that waits, for this time at most. Then it is rolled back, and its guest closed.
    pub(crate) fn hold(self: &Arc<Self>, session: SessionId, cell: HeldCell, longest: Duration) {
        let wait = self.put(session.clone(), cell);
        let held: Weak<Self> = Arc::downgrade(self);
        tokio::spawn(async move {
            sleep(longest).await;
            let late = held.upgrade().and_then(|held| held.take_late(&session, wait));
            if let Some(HeldCell { turn, guest, .. }) = late {
                drop(guest);
                debug!(session.id = %session, "a cell has waited for its caller too long");
                // A failure is made good by the next cell.
                turn.roll_back(CellEnd::default()).await.ok();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use wardian_formats::job::session::asking::CallerRequests;

    fn cell(guest: &Arc<()>) -> HeldCell<Arc<()>, ()> {
        let text = br#"[{"number":1,"input":{"prompt":"","hidden":false}}]"#;
        let requests = CallerRequests::read(text).unwrap();
        let asked = AskedCell::of(&requests, &BTreeSet::new()).unwrap();
        HeldCell {
            turn: (),
            guest: Arc::clone(guest),
            is_reseeded: true,
            number: 3,
            asked,
            result: None,
        }
    }

    fn answers(id: &str) -> Vec<AnswerParam> {
        serde_json::from_str(&json!([{"id": id, "output": "Ada"}]).to_string()).unwrap()
    }

    #[test]
    fn a_cell_is_answered_once_and_waits_on_after_a_wrong_answer() {
        let (held, guest) = (HeldCells::default(), Arc::new(()));
        let session = SessionId::of_random(&[1; 16]);
        assert!(held.answer(&session, &mut answers("c3-r1")).unwrap().is_none());
        held.put(session.clone(), cell(&guest));
        assert!(held.answer(&session, &mut answers("c2-r1")).is_err());
        assert_eq!(held.number_of(&session), Some(3));
        let (answered, text) = held.answer(&session, &mut answers("c3-r1")).unwrap().unwrap();
        assert_eq!(text.as_str(), r#"[{"number":1,"output":"Ada"}]"#);
        assert!(held.answer(&session, &mut answers("c3-r1")).unwrap().is_none());
        drop(answered);
        assert_eq!(Arc::strong_count(&guest), 1);
    }

    #[test]
    fn a_wait_that_is_over_ends_no_later_one() {
        let (held, guest) = (HeldCells::default(), Arc::new(()));
        let session = SessionId::of_random(&[1; 16]);
        let first = held.put(session.clone(), cell(&guest));
        assert!(held.take(&session).is_some());
        let second = held.put(session.clone(), cell(&guest));
        assert!(held.take_late(&session, first).is_none());
        assert!(held.take_late(&session, second).is_some());
        assert_eq!(held.number_of(&session), None);
    }
}
