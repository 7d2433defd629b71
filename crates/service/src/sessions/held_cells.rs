//! Cells that wait for their callers in the middle of a call. Their state is what a worker holds, and cannot
//! be saved; so they end with their worker, with the server, or when nobody answers for long.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};
use tracing::debug;

use crate::error::ServiceError;
use crate::run::result::answered::Answered;
use crate::runs::active::StopReason;
use crate::sessions::asking::asked::{AskedCell, GivenAnswers};
use crate::sessions::earlier_parts::LeftCell;
use wardian_dispatch::HeldGuest;
use wardian_formats::job::session::asking::JsonText;
use wardian_sessions::{CellEnd, CellState, SessionTurn, StoredCell};
use wardian_vocabulary::ids::{CheckpointId, RunId, SessionId};

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

/// What is known of a cell before it runs.
#[derive(Debug, Clone)]
pub(crate) struct CellFacts {
    pub(crate) session: SessionId,
    pub(crate) number: u32,
    /// The checkpoint that its session is at.
    pub(crate) head: Option<CheckpointId>,
    /// The name of the state that it begins or goes on in; `None` for a new guest.
    pub(crate) state: Option<CheckpointId>,
    pub(crate) must_reseed: bool,
}

impl CellFacts {
    /// Those of a cell with this turn.
    pub(crate) fn of(turn: &SessionTurn) -> Self {
        Self {
            session: turn.session().clone(),
            number: turn.number(),
            head: turn.head().map(|head| head.id.clone()),
            state: turn.state().map(|state| state.id.checkpoint.clone()),
            must_reseed: turn.must_reseed(),
        }
    }
}

/// The cells of a server that wait so, by session.
#[derive(Debug)]
pub(crate) struct HeldCells<G = HeldGuest, T = SessionTurn>(Mutex<HeldTable<G, T>>);

#[derive(Debug)]
struct HeldTable<G, T> {
    cells: HashMap<SessionId, Wait<G, T>>,
    /// Sessions whose cell was taken to go on, and has neither gone on nor come back.
    taken: HashSet<SessionId>,
    /// Counts waits.
    waits: u64,
}

/// A cell that was taken to go on, the end of its wait, and what its guest is told.
type Taken<G, T> = (HeldCell<G, T>, Instant, JsonText);

#[derive(Debug)]
struct Wait<G, T> {
    /// The number of the wait.
    number: u64,
    /// Its end, if nobody answers.
    until: Instant,
    cell: HeldCell<G, T>,
}

impl<G, T> Default for HeldCells<G, T> {
    fn default() -> Self {
        let (cells, taken) = (HashMap::new(), HashSet::new());
        Self(Mutex::new(HeldTable { cells, taken, waits: 0 }))
    }
}

impl<G, T> HeldCells<G, T> {
    /// Keeps a cell that waits. Returns the number of its wait.
    fn put(&self, session: SessionId, cell: HeldCell<G, T>, until: Instant) -> u64 {
        let mut table = self.0.lock();
        table.waits = table.waits.saturating_add(1);
        let number = table.waits;
        let before = table.cells.insert(session, Wait { number, until, cell });
        drop(table);
        // A session has one turn, so there is none.
        drop(before);
        number
    }

    /// Takes the cell of a session that waits, whatever it has asked. One that was taken to go on does not
    /// come back.
    pub(crate) fn take(&self, session: &SessionId) -> Option<HeldCell<G, T>> {
        let mut table = self.0.lock();
        table.taken.remove(session);
        table.cells.remove(session).map(|wait| wait.cell)
    }

    /// Takes the cell of a session, if it is in this wait.
    fn take_late(&self, session: &SessionId, wait: u64) -> Option<HeldCell<G, T>> {
        let mut table = self.0.lock();
        if table.cells.get(session).is_none_or(|present| present.number != wait) {
            return None;
        }
        table.cells.remove(session).map(|wait| wait.cell)
    }

    /// Takes the cell of a session to go on, with the end of its wait and what `answers` makes of what it
    /// has asked. `None` if there is none.
    ///
    /// # Errors
    ///
    /// Those of `answers`. The cell waits on.
    fn take_to_go_on(
        &self,
        session: &SessionId,
        answers: impl FnOnce(u32, &AskedCell) -> Result<JsonText, ServiceError>,
    ) -> Result<Option<Taken<G, T>>, ServiceError> {
        let mut table = self.0.lock();
        let Some(wait) = table.cells.get(session) else { return Ok(None) };
        let answers = answers(wait.cell.number, &wait.cell.asked)?;
        table.taken.insert(session.clone());
        let wait = table.cells.remove(session);
        Ok(wait.map(|wait| (wait.cell, wait.until, answers)))
    }

    /// Notes that a cell that was taken has gone on, or cannot. Returns false if it was given up meanwhile.
    fn end_taken(&self, session: &SessionId) -> bool {
        self.0.lock().taken.remove(session)
    }

    /// The number of the cell of a session that waits.
    pub(crate) fn number_of(&self, session: &SessionId) -> Option<u32> {
        self.0.lock().cells.get(session).map(|wait| wait.cell.number)
    }

    /// The number of cells that wait.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().cells.len()
    }

    /// Says of a session's cell that it waits, and what it has said so far. In the store it is running.
    pub(crate) fn show(&self, session: &SessionId, cells: &mut [StoredCell]) {
        let table = self.0.lock();
        let Some(Wait { cell: held, .. }) = table.cells.get(session) else { return };
        if let Some(cell) = cells.iter_mut().find(|cell| cell.number == held.number) {
            cell.state = CellState::Waiting;
            cell.result.clone_from(&held.result);
        }
    }
}

impl HeldCells {
    /// Keeps a cell that waits, for this time at most. Then it is rolled back, and its guest closed.
    pub(crate) fn hold(self: &Arc<Self>, session: SessionId, cell: HeldCell, longest: Duration) {
        let now = Instant::now();
        self.hold_until(session, cell, now.checked_add(longest).unwrap_or(now));
    }

    fn hold_until(self: &Arc<Self>, session: SessionId, cell: HeldCell, until: Instant) {
        let wait = self.put(session.clone(), cell, until);
        let held: Weak<Self> = Arc::downgrade(self);
        tokio::spawn(async move {
            sleep_until(until).await;
            let late = held.upgrade().and_then(|held| held.take_late(&session, wait));
            if let Some(HeldCell { turn, guest, result, .. }) = late {
                drop(guest);
                debug!(session.id = %session, "a cell has waited for its caller too long");
                let end = end_of_late(&turn, result);
                // A failure is made good by the next cell.
                turn.roll_back(end).await.ok();
            }
        });
    }

    /// Takes the cell of a session that waits, with these answers for its guest. `None` if there is none.
    ///
    /// # Errors
    ///
    /// They are no answers to what the cell has asked. It waits on.
    pub(crate) fn answer(
        self: &Arc<Self>,
        session: &SessionId,
        answers: &mut GivenAnswers,
    ) -> Result<Option<(TakenCell, JsonText)>, ServiceError> {
        let given = |cell, asked: &AskedCell| asked.answered(cell, answers);
        let taken = self.take_to_go_on(session, given)?;
        Ok(taken.map(|(cell, until, text)| (self.taken(session, cell, until), text)))
    }

    /// Takes the cell of a session that waits, with an interrupt in the place of answers. `None` if there
    /// is none.
    ///
    /// # Errors
    ///
    /// The interrupt cannot be written. The cell waits on.
    pub(crate) fn interrupt(
        self: &Arc<Self>,
        session: &SessionId,
    ) -> Result<Option<(TakenCell, JsonText)>, ServiceError> {
        let taken = self.take_to_go_on(session, |_, asked| asked.interrupted())?;
        Ok(taken.map(|(cell, until, text)| (self.taken(session, cell, until), text)))
    }

    fn taken(self: &Arc<Self>, session: &SessionId, cell: HeldCell, until: Instant) -> TakenCell {
        let facts = CellFacts::of(&cell.turn);
        let (cells, session) = (Arc::clone(self), session.clone());
        TakenCell { cells, session, facts, until, cell: Some(cell) }
    }
}

/// The end of a cell that nobody has answered in time, whose parts so far had this result.
fn end_of_late(turn: &SessionTurn, earlier: Option<String>) -> CellEnd {
    let CellFacts { session, number, head, .. } = CellFacts::of(turn);
    let left = LeftCell { place: (session, number), head, waits: false, earlier };
    let stopped = Answered::stopped(RunId::generate(), StopReason::Cancelled).result;
    left.end(&left.rolled_back(stopped, "nobody has answered it in time"))
}

/// A cell that was taken to go on. Dropped before it has gone on, it waits on for the rest of its time.
#[derive(Debug)]
pub(crate) struct TakenCell {
    cells: Arc<HeldCells>,
    session: SessionId,
    facts: CellFacts,
    until: Instant,
    /// `None` once it has gone on.
    cell: Option<HeldCell>,
}

impl TakenCell {
    /// What is known of the cell.
    pub(crate) const fn facts(&self) -> &CellFacts {
        &self.facts
    }

    /// What it has asked, and the result of its parts so far.
    pub(crate) fn asked(&self) -> Option<(&AskedCell, Option<&str>)> {
        self.cell.as_ref().map(|cell| (&cell.asked, cell.result.as_deref()))
    }

    /// The guest in which it goes on.
    pub(crate) fn guest(&mut self) -> Option<&mut HeldGuest> {
        self.cell.as_mut().map(|cell| &mut cell.guest)
    }

    /// The cell, which has gone on.
    pub(crate) fn into_cell(mut self) -> Option<HeldCell> {
        self.cells.end_taken(&self.session);
        self.cell.take()
    }
}

impl Drop for TakenCell {
    fn drop(&mut self) {
        let Some(cell) = self.cell.take() else { return };
        // One that was closed meanwhile, or whose guest is lost, is rolled back.
        let waits_on = self.cells.end_taken(&self.session) && cell.guest.is_kept();
        // Without a runtime the server is ending.
        if waits_on && Handle::try_current().is_ok() {
            self.cells.hold_until(self.session.clone(), cell, self.until);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sessions::asking::called_tools::KnownTools;
    use wardian_formats::job::session::asking::CallerRequests;

    fn cell(guest: &Arc<()>) -> HeldCell<Arc<()>, ()> {
        let text = br#"[{"number":1,"input":{"prompt":"","hidden":false}}]"#;
        let requests = CallerRequests::read(text).unwrap();
        let asked = AskedCell::of(&requests, &KnownTools::default()).unwrap();
        HeldCell {
            turn: (),
            guest: Arc::clone(guest),
            is_reseeded: true,
            number: 3,
            asked,
            result: None,
        }
    }

    fn answers(id: &str) -> GivenAnswers {
        let answers = json!([{"id": id, "output": "Ada"}]).to_string();
        GivenAnswers::all(serde_json::from_str(&answers).unwrap())
    }

    #[test]
    fn a_cell_is_answered_once_and_waits_on_after_a_wrong_answer() {
        let (held, guest) = (HeldCells::default(), Arc::new(()));
        let session = SessionId::of_random(&[1; 16]);
        let answer = |id: &str| {
            held.take_to_go_on(&session, |cell, asked| asked.answered(cell, &mut answers(id)))
        };
        assert!(answer("c3-r1").unwrap().is_none());
        held.put(session.clone(), cell(&guest), Instant::now());
        assert!(answer("c2-r1").is_err());
        assert_eq!(held.number_of(&session), Some(3));
        let (answered, until, text) = answer("c3-r1").unwrap().unwrap();
        assert_eq!(text.as_str(), r#"[{"number":1,"output":"Ada"}]"#);
        assert!(answer("c3-r1").unwrap().is_none());
        // It comes back, unless it was given up.
        assert!(held.end_taken(&session) && !held.end_taken(&session));
        held.put(session.clone(), answered, until);
        let (answered, ..) = answer("c3-r1").unwrap().unwrap();
        assert!(held.take(&session).is_none());
        assert!(!held.end_taken(&session), "its session was closed");
        drop(answered);
        assert_eq!(Arc::strong_count(&guest), 1);
    }

    #[test]
    fn a_wait_that_is_over_ends_no_later_one() {
        let (held, guest) = (HeldCells::default(), Arc::new(()));
        let session = SessionId::of_random(&[1; 16]);
        let first = held.put(session.clone(), cell(&guest), Instant::now());
        assert!(held.take(&session).is_some());
        let second = held.put(session.clone(), cell(&guest), Instant::now());
        assert!(held.take_late(&session, first).is_none());
        assert!(held.take_late(&session, second).is_some());
        assert_eq!((held.number_of(&session), held.count()), (None, 0));
    }
}
