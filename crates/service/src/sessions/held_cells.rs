//! Cells that wait for their callers in the middle of a call. Their state is what a worker holds, and cannot
//! be saved; so they end with their worker, with the server, with their session, or when nobody answers for
//! long.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::mem::take;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use tracing::debug;

use crate::error::ServiceError;
use crate::run::result::answered::Answered;
use crate::runs::active::StopReason;
use crate::sessions::asking::asked::{AskedCell, GivenAnswers};
use crate::sessions::asking::decision::DecidedCell;
use crate::sessions::earlier_parts::LeftCell;
use crate::sessions::held::ended_sessions::EndedSessions;
use crate::sessions::held::places::HeldPlace;
use wardian_dispatch::HeldGuest;
use wardian_formats::job::session::asking::JsonText;
use wardian_sessions::{CellEnd, CellState, SessionTurn, SessionsError, StoredCell};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{CheckpointId, RunId, SessionId, TenantId};

/// Why a cell ends whose interpreter is gone.
const LOST: &str = "its interpreter was lost while it waited";

/// Why a cell ends that was going on.
const LEFT: &str = "its caller left while it was going on";

/// Why a cell ends at the end of its wait.
const TOO_LATE: &str = "nobody has answered it in time";

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
    /// Its right to wait so. `None` until it waits for the first time.
    pub(crate) place: Option<HeldPlace>,
}

/// The guest of a cell that waits.
pub(crate) trait HoldsCell: Send + 'static {
    /// True if a worker keeps it.
    fn is_kept(&self) -> bool;

    /// Waits until no worker keeps it.
    fn lost(&self) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

impl HoldsCell for HeldGuest {
    fn is_kept(&self) -> bool {
        Self::is_kept(self)
    }

    fn lost(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(Self::lost(self))
    }
}

/// The turn of a cell that waits.
pub(crate) trait HeldTurn: Send + 'static {
    /// The owner of its session.
    fn owner(&self) -> &TenantId;

    /// Says that the cell ends: whoever wants the next turn of the session waits for that.
    fn begin_ending(&self);

    /// Ends the cell without a trace for this reason. Its parts so far have the result `earlier`.
    fn end(self, earlier: Option<String>, reason: &'static str) -> impl Future<Output = ()> + Send;
}

impl HeldTurn for SessionTurn {
    fn owner(&self) -> &TenantId {
        Self::owner(self)
    }

    fn begin_ending(&self) {
        Self::begin_ending(self);
    }

    async fn end(self, earlier: Option<String>, reason: &'static str) {
        let session = self.session().clone();
        debug!(session.id = %session, "a cell does not wait any more: {reason}");
        let end = end_of(&self, earlier, reason);
        // A failure is made good by the next cell.
        if let Err(cause) = self.roll_back(end).await {
            debug!(session.id = %session, "a cell could not be ended: {}", CauseChain(&cause));
        }
    }
}

impl<G: HoldsCell, T: HeldTurn> HeldCell<G, T> {
    /// Ends the cell without a trace, for this reason.
    pub(crate) async fn end(self, reason: &'static str) {
        let Self { turn, guest, result, place, .. } = self;
        drop(guest);
        turn.end(result, reason).await;
        drop(place);
    }
}

impl<G, T> HeldCell<G, T> {
    /// Bytes that it takes while it waits.
    pub(crate) fn bytes(&self) -> usize {
        let result = self.result.as_ref().map_or(0, String::len);
        self.asked.bytes().saturating_add(result)
    }
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
    ended: EndedSessions,
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
    /// The task that ends it.
    task: AbortHandle,
}

impl<G, T> Wait<G, T> {
    /// The cell, which waits no more.
    fn over(self) -> HeldCell<G, T> {
        self.task.abort();
        self.cell
    }
}

impl<G, T> Default for HeldCells<G, T> {
    fn default() -> Self {
        let (cells, taken, ended) = (HashMap::new(), HashSet::new(), EndedSessions::default());
        Self(Mutex::new(HeldTable { cells, taken, ended, waits: 0 }))
    }
}

impl<G: HoldsCell, T: HeldTurn> HeldCells<G, T> {
    /// Keeps a cell that waits, for this time at most. When that is over, or its guest is lost, it is rolled
    /// back. Returns the cell if its session has ended.
    pub(crate) fn hold(
        self: &Arc<Self>,
        session: SessionId,
        cell: HeldCell<G, T>,
        longest: Duration,
    ) -> Option<HeldCell<G, T>> {
        let now = Instant::now();
        self.hold_until(session, cell, now.checked_add(longest).unwrap_or(now))
    }

    fn hold_until(
        self: &Arc<Self>,
        session: SessionId,
        cell: HeldCell<G, T>,
        until: Instant,
    ) -> Option<HeldCell<G, T>> {
        let (held, lost): (Weak<Self>, _) = (Arc::downgrade(self), cell.guest.lost());
        let mut table = self.0.lock();
        table.taken.remove(&session);
        if table.ended.has(&session) {
            return Some(cell);
        }
        table.waits = table.waits.saturating_add(1);
        let (number, of) = (table.waits, session.clone());
        // It gets to the table only when the cell is there.
        let task = tokio::spawn(async move {
            let reason = tokio::select! {
                () = sleep_until(until) => TOO_LATE,
                () = lost => LOST,
            };
            let over = held.upgrade().and_then(|held| held.take_late(&of, number));
            if let Some(cell) = over {
                cell.end(reason).await;
            }
        });
        let wait = Wait { number, until, cell, task: task.abort_handle() };
        let before = table.cells.insert(session, wait);
        drop(table);
        // A session has one turn, so there is none.
        drop(before);
        None
    }

    /// Takes the cell of a session, if it is in this wait, to end it.
    fn take_late(&self, session: &SessionId, wait: u64) -> Option<HeldCell<G, T>> {
        let mut table = self.0.lock();
        if table.cells.get(session).is_none_or(|present| present.number != wait) {
            return None;
        }
        // The task of the wait itself ends the cell.
        let cell = table.cells.remove(session).map(|wait| wait.cell);
        cell.inspect(|cell| cell.turn.begin_ending())
    }

    /// Ends the cell of a session whose guest is lost, if that is not done yet.
    pub(crate) async fn end_lost(&self, session: &SessionId) {
        let lost = {
            let mut table = self.0.lock();
            let is_lost = |wait: &Wait<G, T>| !wait.cell.guest.is_kept();
            match table.cells.get(session).is_some_and(is_lost) {
                true => table.cells.remove(session).map(Wait::over),
                false => None,
            }
            .inspect(|cell| cell.turn.begin_ending())
        };
        if let Some(cell) = lost {
            cell.end(LOST).await;
        }
    }

    /// Takes the cell of a session that has ended, whatever it has asked. One that was taken to go on, or
    /// would be kept later, does not come back.
    pub(crate) fn end(&self, session: &SessionId) -> Option<HeldCell<G, T>> {
        let mut table = self.0.lock();
        table.ended.note(session);
        table.taken.remove(session);
        table.cells.remove(session).map(Wait::over)
    }

    /// Takes the cell of a session to end it, whatever it has asked.
    ///
    /// # Errors
    ///
    /// It was taken to go on, and goes on or waits on.
    pub(crate) fn take_to_abandon(
        &self,
        session: &SessionId,
    ) -> Result<Option<HeldCell<G, T>>, SessionsError> {
        let mut table = self.0.lock();
        if table.taken.contains(session) {
            return Err(SessionsError::Busy { session: session.clone() });
        }
        Ok(table.cells.remove(session).map(Wait::over))
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
        Ok(wait.map(|wait| {
            let until = wait.until;
            (wait.over(), until, answers)
        }))
    }

    /// Changes what the cell of a session has asked, by what its caller has decided. Returns true if there is a
    /// cell, and its changes, if something was decided.
    ///
    /// # Errors
    ///
    /// Those of `decide`.
    pub(crate) fn decide(
        &self,
        session: &SessionId,
        decide: impl FnOnce(u32, &AskedCell) -> Result<Option<DecidedCell>, ServiceError>,
    ) -> Result<(bool, Option<DecidedCell>), ServiceError> {
        let mut table = self.0.lock();
        let Some(wait) = table.cells.get_mut(session) else { return Ok((false, None)) };
        let mut decided = decide(wait.cell.number, &wait.cell.asked)?;
        if let Some(decided) = &mut decided {
            wait.cell.asked = take(&mut decided.asked);
        }
        Ok((true, decided))
    }

    /// True if a cell that was taken has neither gone on nor come back, and was not given up meanwhile.
    fn is_taken(&self, session: &SessionId) -> bool {
        self.0.lock().taken.contains(session)
    }

    /// Notes that a cell that was taken has gone on, or cannot. Returns false if it was given up meanwhile.
    fn end_taken(&self, session: &SessionId) -> bool {
        self.0.lock().taken.remove(session)
    }

    /// The number of the cell of a session that waits, unless its guest is lost.
    pub(crate) fn number_of(&self, session: &SessionId) -> Option<u32> {
        let table = self.0.lock();
        let wait = table.cells.get(session).filter(|wait| wait.cell.guest.is_kept());
        wait.map(|wait| wait.cell.number)
    }

    /// Waits until the guest of a session's cell is lost, or goes on. One that is not there is never lost.
    pub(crate) async fn lost(&self, session: &SessionId) {
        let lost = self.0.lock().cells.get(session).map(|wait| wait.cell.guest.lost());
        match lost {
            Some(lost) => lost.await,
            None => pending().await,
        }
    }

    /// The number of cells that wait.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().cells.len()
    }

    /// The sessions whose cells wait, with their owners.
    pub(crate) fn sessions(&self) -> Vec<(TenantId, SessionId)> {
        let table = self.0.lock();
        let owned = |(session, wait): (&SessionId, &Wait<G, T>)| {
            (wait.cell.turn.owner().clone(), session.clone())
        };
        table.cells.iter().map(owned).collect()
    }

    /// Says of a session's cell that it waits, and what it has said so far. In the store it is running.
    pub(crate) fn show(&self, session: &SessionId, cells: &mut [StoredCell]) {
        let table = self.0.lock();
        let held = table.cells.get(session).map(|wait| &wait.cell);
        let Some(held) = held.filter(|held| held.guest.is_kept()) else { return };
        if let Some(cell) = cells.iter_mut().find(|cell| cell.number == held.number) {
            cell.state = CellState::Waiting;
            cell.result.clone_from(&held.result);
        }
    }
}

impl HeldCells {
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
        let given = |cell, asked: &AskedCell| asked.told((session, cell), answers);
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
        TakenCell { cells, session, facts, until, cell: Some(cell), is_lost: false }
    }
}

/// The end of a cell that cannot go on for this reason, and whose parts so far had the result `earlier`.
fn end_of(turn: &SessionTurn, earlier: Option<String>, reason: &str) -> CellEnd {
    let CellFacts { session, number, head, .. } = CellFacts::of(turn);
    // One that nobody answers is given up by its caller; others fail.
    let waits = reason != TOO_LATE;
    let left = LeftCell { place: (session, number), head, waits, earlier };
    let stopped = Answered::stopped(RunId::generate(), StopReason::Cancelled).result;
    left.end(&left.rolled_back(stopped, reason))
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
    /// True if its guest was lost before it has gone on.
    is_lost: bool,
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

    /// Notes that its guest was lost before it has gone on.
    pub(crate) const fn note_lost(&mut self) {
        self.is_lost = true;
    }

    /// The cell, which has gone on.
    pub(crate) fn into_cell(mut self) -> Option<HeldCell> {
        self.cells.end_taken(&self.session);
        self.cell.take()
    }
}

impl Drop for TakenCell {
    fn drop(&mut self) {
        // Without a runtime the server is ending.
        let (Some(cell), Ok(runtime)) = (self.cell.take(), Handle::try_current()) else { return };
        if !self.cells.is_taken(&self.session) {
            // Its session was closed, and the cell with it.
        } else if cell.guest.is_kept() {
            drop(self.cells.hold_until(self.session.clone(), cell, self.until));
        } else {
            cell.turn.begin_ending();
            self.cells.end_taken(&self.session);
            runtime.spawn(cell.end(if self.is_lost { LOST } else { LEFT }));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::watch;
    use tokio::task::yield_now;

    use super::*;
    use crate::sessions::asking::called_tools::KnownTools;
    use wardian_formats::job::session::asking::CallerRequests;

    const LONG: Duration = Duration::from_secs(3_600);

    /// A guest that is lost when this is false.
    #[derive(Clone)]
    struct Guest(watch::Sender<bool>);

    impl Guest {
        fn new() -> Self {
            Self(watch::Sender::new(true))
        }
    }

    impl HoldsCell for Guest {
        fn is_kept(&self) -> bool {
            *self.0.borrow()
        }

        fn lost(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            let mut kept = self.0.subscribe();
            Box::pin(async move { drop(kept.wait_for(|is_kept| !is_kept).await) })
        }
    }

    /// A turn that says how it ends.
    struct Turn(TenantId, watch::Sender<Vec<String>>);

    impl HeldTurn for Turn {
        fn owner(&self) -> &TenantId {
            &self.0
        }

        fn begin_ending(&self) {
            self.1.send_modify(|ends| ends.push("ends".to_owned()));
        }

        async fn end(self, earlier: Option<String>, reason: &'static str) {
            yield_now().await;
            self.1.send_modify(|ends| ends.push(format!("{}: {reason}", earlier.unwrap())));
        }
    }

    type Held = Arc<HeldCells<Guest, Turn>>;

    fn session() -> SessionId {
        SessionId::of_random(&[1; 16])
    }

    /// A cell, and the ends of its turn.
    fn cell(guest: &Guest) -> (HeldCell<Guest, Turn>, watch::Receiver<Vec<String>>) {
        let text = br#"[{"number":1,"input":{"prompt":"","hidden":false}}]"#;
        let requests = CallerRequests::read(text).unwrap();
        let asked = AskedCell::of(&requests, &KnownTools::default()).unwrap();
        let (ends, told) = watch::channel(Vec::new());
        let (turn, result) = (Turn(TenantId::local(), ends), Some("before".to_owned()));
        let (guest, place, number) = (guest.clone(), None, 3);
        (HeldCell { turn, guest, is_reseeded: true, number, asked, result, place }, told)
    }

    fn answers(id: &str) -> GivenAnswers {
        let answers = json!([{"id": id, "output": "Ada"}]).to_string();
        GivenAnswers::all(serde_json::from_str(&answers).unwrap())
    }

    fn answer(held: &Held, id: &str) -> Result<Option<Taken<Guest, Turn>>, ServiceError> {
        held.take_to_go_on(&session(), |cell, asked| {
            asked.told((&session(), cell), &mut answers(id))
        })
    }

    /// Waits until no task waits for the end of a cell.
    async fn ensure_no_task() {
        while Handle::current().metrics().num_alive_tasks() > 0 {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_cell_is_answered_once_and_waits_on_after_a_wrong_answer() {
        let (held, guest) = (Held::default(), Guest::new());
        assert!(answer(&held, "c3-r1").unwrap().is_none());
        let (first, told) = cell(&guest);
        assert!(held.hold(session(), first, LONG).is_none());
        assert!(answer(&held, "c2-r1").is_err());
        assert_eq!(held.number_of(&session()), Some(3));
        let (answered, until, text) = answer(&held, "c3-r1").unwrap().unwrap();
        assert_eq!(text.as_str(), r#"[{"number":1,"output":"Ada"}]"#);
        assert!(answer(&held, "c3-r1").unwrap().is_none());
        ensure_no_task().await;
        // It comes back, unless it was given up.
        assert!(held.is_taken(&session()));
        assert!(held.hold_until(session(), answered, until).is_none());
        assert!(!held.is_taken(&session()));
        let (answered, ..) = answer(&held, "c3-r1").unwrap().unwrap();
        assert!(held.end(&session()).is_none());
        assert!(!held.end_taken(&session()), "its session was closed");
        assert!(held.hold_until(session(), answered, until).is_some());
        ensure_no_task().await;
        assert!(told.borrow().is_empty() && held.count() == 0);
    }

    #[tokio::test]
    async fn a_cell_whose_guest_is_lost_ends_with_what_it_has_shown() {
        let (held, guest) = (Held::default(), Guest::new());
        let (waiting, mut told) = cell(&guest);
        held.hold(session(), waiting, LONG);
        assert_eq!(held.sessions(), [(TenantId::local(), session())]);
        guest.0.send_replace(false);
        assert_eq!((held.number_of(&session()), held.count()), (None, 1), "it is seen at once");
        let ends = told.wait_for(|ends| ends.len() == 2).await.unwrap().clone();
        assert_eq!(ends, ["ends", "before: its interpreter was lost while it waited"]);
        assert_eq!(held.count(), 0);
        // So it is for a call that comes before that was done.
        let (guest, mut shown) = (Guest::new(), [stored()]);
        let (waiting, told) = cell(&guest);
        held.hold(session(), waiting, LONG);
        held.show(&session(), &mut shown);
        assert_eq!(
            (shown[0].state, shown[0].result.as_deref()),
            (CellState::Waiting, Some("before"))
        );
        held.end_lost(&session()).await;
        assert_eq!(held.number_of(&session()), Some(3), "it is not lost");
        guest.0.send_replace(false);
        let mut shown = [stored()];
        held.show(&session(), &mut shown);
        assert_eq!(shown[0].state, CellState::Running);
        held.end_lost(&session()).await;
        assert_eq!(told.borrow().len(), 2);
        ensure_no_task().await;
    }

    fn stored() -> StoredCell {
        let (source, result, fuel, checkpoint) = (None, None, None, None);
        let state = CellState::Running;
        StoredCell {
            number: 3,
            source,
            state,
            result,
            fuel,
            checkpoint,
            began_ms: 1,
            began_after: 2,
        }
    }

    #[tokio::test]
    async fn a_wait_ends_in_time_and_ends_no_later_one() {
        let (held, guest) = (Held::default(), Guest::new());
        let (first, told) = cell(&guest);
        held.hold(session(), first, LONG);
        let number = held.0.lock().waits;
        assert!(held.take_to_abandon(&session()).unwrap().is_some());
        let (second, mut told_second) = cell(&guest);
        held.hold(session(), second, Duration::from_millis(5));
        assert!(held.take_late(&session(), number).is_none());
        let ends = told_second.wait_for(|ends| ends.len() == 2).await.unwrap().clone();
        assert_eq!(ends, ["ends", "before: nobody has answered it in time"]);
        assert!(told.borrow().is_empty());
        assert_eq!((held.number_of(&session()), held.count()), (None, 0));
        ensure_no_task().await;
    }

    #[tokio::test]
    async fn a_cell_that_is_being_answered_is_not_abandoned() {
        let (held, guest) = (Held::default(), Guest::new());
        assert!(held.take_to_abandon(&session()).unwrap().is_none());
        let (waiting, told) = cell(&guest);
        held.hold(session(), waiting, LONG);
        let (answered, until, _) = answer(&held, "c3-r1").unwrap().unwrap();
        let refused = held.take_to_abandon(&session()).map(drop);
        assert!(matches!(refused, Err(SessionsError::Busy { .. })), "{refused:?}");
        // Its answers are refused, and it waits on.
        assert!(held.is_taken(&session()));
        held.hold_until(session(), answered, until);
        assert_eq!(held.number_of(&session()), Some(3));
        assert!(told.borrow().is_empty());
        assert!(held.take_to_abandon(&session()).unwrap().is_some());
    }
}
