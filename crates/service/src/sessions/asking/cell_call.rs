//! The call in which a cell goes on, part after part.
//!
//! Between two parts no worker has the cell, and its call does not wait for answers yet. An interrupt that comes
//! then is noted at the call, which takes it before anything else.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use tokio::sync::watch;

use wardian_vocabulary::ids::SessionId;

/// The calls in which cells are running, by their sessions.
#[derive(Debug, Default)]
pub(crate) struct CellCalls(Mutex<HashMap<SessionId, Weak<CallInProgress>>>);

/// A call in which a cell goes on.
#[derive(Debug, Default)]
pub(crate) struct CallInProgress {
    interrupt: watch::Sender<Interrupt>,
    /// Where it is listed, since its first part has begun.
    place: OnceLock<(Arc<CellCalls>, SessionId)>,
}

/// What is known of an interrupt of a call.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Interrupt {
    #[default]
    None,
    /// It has come, and reaches the cell where it waits next.
    Noted,
    /// The call has taken it.
    Taken,
}

/// An interrupt that is noted at a call.
#[derive(Debug)]
pub(crate) struct NotedInterrupt {
    call: Weak<CallInProgress>,
    state: watch::Receiver<Interrupt>,
}

impl CellCalls {
    /// Lets interrupts of the session be noted at this call, as long as it goes on.
    pub(crate) fn begin_part(self: &Arc<Self>, session: &SessionId, call: &Arc<CallInProgress>) {
        call.place.get_or_init(|| (Arc::clone(self), session.clone()));
        self.0.lock().insert(session.clone(), Arc::downgrade(call));
    }

    /// True if the cell of this session goes on in a call.
    pub(crate) fn is_going_on(&self, session: &SessionId) -> bool {
        self.0.lock().get(session).is_some_and(|call| call.strong_count() > 0)
    }

    /// Notes an interrupt at the call in which the cell of this session goes on; `None` if there is no call.
    pub(crate) fn note_interrupt(&self, session: &SessionId) -> Option<NotedInterrupt> {
        // The call is let go of after the list, which its end needs.
        let call = self.0.lock().get(session).and_then(Weak::upgrade)?;
        let state = call.interrupt.subscribe();
        call.interrupt.send_replace(Interrupt::Noted);
        Some(NotedInterrupt { call: Arc::downgrade(&call), state })
    }
}

impl CallInProgress {
    /// True if an interrupt was noted. It is taken.
    pub(crate) fn take_interrupt(&self) -> bool {
        self.change(Interrupt::Taken)
    }

    /// Changes the state of an interrupt that is noted. Returns false if there is none.
    fn change(&self, to: Interrupt) -> bool {
        self.interrupt.send_if_modified(|state| {
            let is_noted = *state == Interrupt::Noted;
            if is_noted {
                *state = to;
            }
            is_noted
        })
    }
}

impl Drop for CallInProgress {
    fn drop(&mut self) {
        if let Some((calls, session)) = self.place.get() {
            let mut listed = calls.0.lock();
            let is_this = |call: &Weak<Self>| std::ptr::eq(call.as_ptr(), &raw const *self);
            if listed.get(session).is_some_and(is_this) {
                listed.remove(session);
            }
        }
    }
}

impl NotedInterrupt {
    /// Waits until the call has taken the interrupt, which is true, or has ended without it.
    pub(crate) async fn taken(&mut self) -> bool {
        self.state.wait_for(|state| *state == Interrupt::Taken).await.is_ok()
    }

    /// Withdraws the interrupt. Returns false if the call has taken it before.
    pub(crate) fn withdraw(&self) -> bool {
        let is_withdrawn = self.call.upgrade().is_some_and(|call| call.change(Interrupt::None));
        is_withdrawn || *self.state.borrow() != Interrupt::Taken
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn session(number: u8) -> SessionId {
        SessionId::of_random(&[number; 16])
    }

    #[tokio::test]
    async fn an_interrupt_is_taken_once_by_the_call_in_progress() {
        let (calls, call) = (Arc::new(CellCalls::default()), Arc::new(CallInProgress::default()));
        assert!(calls.note_interrupt(&session(1)).is_none(), "no part has begun");
        calls.begin_part(&session(1), &call);
        assert!(calls.note_interrupt(&session(2)).is_none(), "another one");
        assert!(!call.take_interrupt());
        let mut noted = calls.note_interrupt(&session(1)).unwrap();
        let early = timeout(Duration::from_millis(5), noted.taken()).await;
        assert!(early.is_err(), "nothing has taken it");
        // It is there for the next part, whatever begins meanwhile.
        calls.begin_part(&session(1), &call);
        assert!(call.take_interrupt() && !call.take_interrupt());
        assert!(noted.taken().await);
        assert!(!noted.withdraw());
    }

    #[tokio::test]
    async fn an_interrupt_ends_with_its_call() {
        let (calls, call) = (Arc::new(CellCalls::default()), Arc::new(CallInProgress::default()));
        calls.begin_part(&session(1), &call);
        let mut noted = calls.note_interrupt(&session(1)).unwrap();
        let withdrawn = calls.note_interrupt(&session(1)).unwrap();
        assert!(withdrawn.withdraw());
        assert!(!call.take_interrupt(), "it is withdrawn");
        drop(call);
        assert!(!noted.taken().await && noted.withdraw());
        assert!(calls.0.lock().is_empty());
        // One that has ended late is not taken for its successor.
        let (first, second) =
            (Arc::new(CallInProgress::default()), Arc::new(CallInProgress::default()));
        calls.begin_part(&session(1), &first);
        calls.begin_part(&session(1), &second);
        drop(first);
        assert!(calls.note_interrupt(&session(1)).is_some());
        assert!(second.take_interrupt());
    }
}
