//! The alarm that stops a spinning guest.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use wasmtime::Engine;

/// A thread that moves an engine's epoch when a run's deadline strikes.
///
/// There is no tick while nothing runs, so an idle worker costs no processor time, and a short
/// run costs at most one needless wake-up later. A longer run is interrupted every [`BEAT`], so
/// that it can ask whether anybody still waits for it. The epoch belongs to an engine, not to a
/// run, so it may move for a run that is already over; the run's own callback compares the clock
/// before it stops anything.
///
/// INVARIANT(watchdog-ends): the thread ends before the drop returns.
pub(super) struct Watchdog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// When to interrupt next, when at the latest, and whom, if a run is in progress.
    alarm: Option<Alarm>,
    /// When the thread will look again by itself.
    wakes_at: Option<Instant>,
    ends: bool,
}

struct Alarm {
    next: Instant,
    deadline: Instant,
    engine: Engine,
}

/// How often a run is interrupted that takes its time.
const BEAT: Duration = Duration::from_millis(50);

impl Watchdog {
    /// Starts the thread. Must happen before the process locks itself down.
    pub(super) fn spawn() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let watched = Arc::clone(&shared);
        let thread =
            thread::Builder::new().name("watchdog".into()).spawn(move || watch(&watched))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Moves the epoch of `engine` every [`BEAT`] and at `deadline`, until the guard is dropped.
    pub(super) fn arm(&self, engine: &Engine, deadline: Instant) -> Armed<'_> {
        let mut state = self.shared.state.lock();
        let next = deadline.min(Instant::now() + BEAT);
        state.alarm = Some(Alarm { next, deadline, engine: engine.clone() });
        if state.wakes_at.is_none_or(|wakes_at| next < wakes_at) {
            self.shared.changed.notify_one();
        }
        Armed(self)
    }
}

/// Keeps the alarm set.
pub(super) struct Armed<'a>(&'a Watchdog);

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        self.0.shared.state.lock().alarm = None;
    }
}

fn watch(shared: &Shared) {
    let mut state = shared.state.lock();
    while !state.ends {
        let now = Instant::now();
        state.wakes_at = match &mut state.alarm {
            Some(alarm) if alarm.next <= now => {
                alarm.engine.increment_epoch();
                let beat = now + BEAT;
                // Past the deadline the beat goes on: the guest may be in a call of the host.
                alarm.next = if now < alarm.deadline { beat.min(alarm.deadline) } else { beat };
                Some(alarm.next)
            }
            Some(alarm) => Some(alarm.next),
            None => None,
        };
        match state.wakes_at {
            Some(at) => drop(shared.changed.wait_until(&mut state, at)),
            None => shared.changed.wait(&mut state),
        }
    }
}

impl fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchdog").finish_non_exhaustive()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.state.lock().ends = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the thread itself.
            thread.join().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Config, Instance, Module, Store, Trap};

    use super::*;

    fn spinning() -> (Engine, Module) {
        let mut config = Config::new();
        config.epoch_interruption(true);
        let engine = Engine::new(&config).unwrap();
        let wat = r#"(module (func (export "spin") (loop br 0)))"#;
        let module = Module::new(&engine, wat::parse_str(wat).unwrap()).unwrap();
        (engine, module)
    }

    fn spin(watchdog: &Watchdog, engine: &Engine, module: &Module) -> Trap {
        let mut store = Store::new(engine, ());
        store.set_epoch_deadline(1);
        let instance = Instance::new(&mut store, module, &[]).unwrap();
        let spin = instance.get_typed_func::<(), ()>(&mut store, "spin").unwrap();
        let _armed = watchdog.arm(engine, Instant::now() + Duration::from_millis(5));
        *spin.call(&mut store, ()).unwrap_err().downcast_ref::<Trap>().unwrap()
    }

    #[test]
    fn a_spinning_guest_is_stopped_again_and_again() {
        let (engine, module) = spinning();
        let watchdog = Watchdog::spawn().unwrap();
        for _ in 0..5 {
            assert_eq!(spin(&watchdog, &engine, &module), Trap::Interrupt);
        }
    }

    #[test]
    fn an_earlier_deadline_is_noticed_while_the_watchdog_sleeps() {
        let (engine, module) = spinning();
        let watchdog = Watchdog::spawn().unwrap();
        drop(watchdog.arm(&engine, Instant::now() + Duration::from_secs(3600)));
        assert_eq!(spin(&watchdog, &engine, &module), Trap::Interrupt);
    }

    #[test]
    fn watchdog_ends_with_its_value() {
        let (engine, _) = spinning();
        let watchdog = Watchdog::spawn().unwrap();
        drop(watchdog.arm(&engine, Instant::now() + Duration::from_secs(3600)));
        let shared = Arc::downgrade(&watchdog.shared);
        drop(watchdog);
        assert!(shared.upgrade().is_none(), "the thread still holds its state");
    }
}
