//! The thread that stops a guest at its deadline, or when its fuel is used up, and that sends it
//! signals: those of its timer, and the one that interrupts a cell.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::host_call::request::TimerRequest;
use crate::memory::ControlPages;
use crate::run::deadline::soft_stop::SoftStop;
use crate::run::deadline::{Canceller, Deadline, Stopped};
use crate::run::interrupter::Interrupter;
use crate::run::meter::{CounterWatch, FuelMeter};
use crate::run::signal_words::SignalWords;
use crate::run::timer::interval_timer::IntervalTimer;
use wardian_formats::job::host::{IsCancelled, IsInterrupted};

/// A thread that interrupts a run at its deadline, when its caller is gone, or when it has used more
/// fuel than it had and does not notice by itself.
///
/// The thread sleeps while nothing runs, so an idle worker costs no processor time, and a short run
/// costs at most one unneeded wake-up later. During a longer run it checks every [`BEAT`] that a
/// caller still waits, and looks more often at a counter that comes to its end. A guest that sleeps in
/// a host call executes no code, so a cancellation also wakes the sleepers of its [`Deadline`].
///
/// INVARIANT(watchdog-ends): the thread ends before the drop returns.
/// INVARIANT(only-the-armed): a guest is interrupted and stopped only while its alarm is set. After that
/// its pages, or the epoch, may belong to another guest. Both and disarming happen under one lock.
pub(crate) struct Watchdog {
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
    /// The alarm, if a run is in progress.
    alarm: Option<Alarm>,
    /// The time at which the thread wakes up by itself.
    wakes_at: Option<Instant>,
    ends: bool,
}

struct Alarm {
    /// The time of the next check.
    next: Instant,
    deadline: Instant,
    is_cancelled: IsCancelled,
    is_interrupted: IsInterrupted,
    canceller: Canceller,
    interrupter: Interrupter,
    /// Interrupts the guest before it is stopped; `None` for one that is stopped at once.
    soft: Option<SoftStop>,
    counter: Option<CounterWatch>,
    bell: Bell,
    stopped: Option<Stopped>,
    /// Since when the guest waits for its next turn, in which nothing is looked at.
    stands_since: Option<Instant>,
}

/// Sends the signals of a guest's timer.
struct Bell {
    timer: IntervalTimer,
    /// The start of the timer's time.
    started: Instant,
    pages: Arc<ControlPages>,
    words: Option<SignalWords>,
    /// True from a signal on until the guest has noticed it.
    is_ringing: bool,
}

impl Bell {
    fn now(&self) -> Duration {
        Instant::now().saturating_duration_since(self.started)
    }

    /// Signals the guest if its timer is due. In a rare race the guest's own write to a word undoes the
    /// change. So later looks tell the guest again to look for signals, until it has taken this one. They do
    /// not send it again: the guest may be taking it at this moment.
    fn look(&mut self, now: Instant) {
        let Some(words) = self.words else { return };
        let now = now.saturating_duration_since(self.started);
        if self.timer.take(now) {
            self.is_ringing = true;
            self.set(words.signal());
        } else if self.is_ringing {
            self.is_ringing = self.pages.load_word(words.tripped).is_ok_and(|tripped| tripped != 0);
            if self.is_ringing {
                self.set(words.notice());
            }
        }
    }

    fn set<const N: usize>(&self, words: [(u32, u32); N]) {
        for (address, bits) in words {
            // A guest that has changed where its interpreter is gets no signals.
            self.pages.set_bits(address, bits).ok();
        }
    }

    /// The time of the next look.
    fn next(&self, now: Instant) -> Option<Instant> {
        let due = self.started.checked_add(self.timer.due()?)?;
        Some(due.max(now + FASTEST_SIGNALS))
    }
}

/// The shortest time between two looks at a timer: the step of the guest's clocks.
const FASTEST_SIGNALS: Duration = Duration::from_millis(1);

impl Alarm {
    /// Stops the run if it must not continue, and sets the time of the next check.
    ///
    /// An interruption can fail if the process has too many mappings. It is tried again, until the
    /// gateway kills the process.
    fn look(&mut self, now: Instant) {
        self.next = now + BEAT;
        if self.stands_since.is_some() {
            self.next = now + STANDING_BEAT;
            return;
        }
        if self.stopped.is_none() {
            self.stopped = self.reason_to_stop(now);
            if let Some(reason) = self.stopped {
                self.canceller.cancel(reason);
            }
        }
        let is_used_up = self.counter.as_ref().is_some_and(CounterWatch::is_used_up);
        if self.stopped.is_some() || is_used_up {
            self.interrupter.interrupt().ok();
        } else {
            self.bell.look(now);
            self.set_next(now);
        }
    }

    /// The reason to stop the guest for good at `now`, if there is one. A cell that nobody waits for any
    /// more has no grace.
    fn reason_to_stop(&mut self, now: Instant) -> Option<Stopped> {
        let is_late = now >= self.deadline;
        let Some(soft) = &mut self.soft else {
            if is_late {
                return Some(Stopped::Deadline);
            }
            if (self.is_cancelled)() {
                return Some(Stopped::Cancelled);
            }
            return (self.is_interrupted)().then_some(Stopped::Interrupted);
        };
        if (self.is_cancelled)() {
            return Some(Stopped::Cancelled);
        }
        if is_late {
            soft.begin(Stopped::Deadline, now, &self.canceller);
        } else if (self.is_interrupted)() {
            soft.begin(Stopped::Interrupted, now, &self.canceller);
        }
        soft.look(now, &self.canceller)
    }

    /// Sets the time of the next check, if there was no reason to stop at `now`.
    fn set_next(&mut self, now: Instant) {
        let pause = self.counter.as_mut().map_or(BEAT, |counter| counter.next().min(BEAT));
        let last = self.soft.as_ref().and_then(SoftStop::next).unwrap_or(self.deadline);
        self.next = last.min(now + pause);
        if let Some(next) = self.bell.next(now) {
            self.next = self.next.min(next);
        }
    }
}

/// The interval at which the watchdog wakes up for a guest that waits for its next turn.
const STANDING_BEAT: Duration = Duration::from_secs(5);

/// The interval at which the watchdog asks if a caller still waits for a run.
const BEAT: Duration = Duration::from_millis(50);

impl Watchdog {
    /// Starts the thread. Must happen before the process locks itself down.
    pub(crate) fn spawn() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let watched = Arc::clone(&shared);
        let thread =
            thread::Builder::new().name("watchdog".into()).spawn(move || watch(&watched))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The timer of the guest that is watched next.
    pub(crate) fn timer(&self) -> LiveTimer {
        LiveTimer { shared: Arc::clone(&self.shared) }
    }

    /// Stops a guest at `deadline`, or once there is another reason, unless the alarm is disarmed
    /// before.
    pub(crate) fn arm(&self, watched: Watched, deadline: &Deadline) -> Armed<'_> {
        let Watched { interrupter, is_cancelled, is_interrupted, meter, pages, words, soft } =
            watched;
        let now = Instant::now();
        let mut alarm = Alarm {
            next: now,
            deadline: deadline.instant(),
            is_cancelled,
            is_interrupted,
            canceller: deadline.canceller(),
            interrupter,
            soft: soft.map(|words| SoftStop::new(Arc::clone(&pages), words)),
            counter: meter.map(CounterWatch::new),
            bell: Bell {
                timer: IntervalTimer::default(),
                started: now,
                pages,
                words,
                is_ringing: false,
            },
            stopped: None,
            stands_since: None,
        };
        alarm.set_next(now);
        let next = alarm.next;
        let mut state = self.shared.state.lock();
        state.alarm = Some(alarm);
        if state.wakes_at.is_none_or(|wakes_at| next < wakes_at) {
            self.shared.changed.notify_one();
        }
        Armed(self)
    }
}

/// The timer of the guest that is watched.
pub(crate) struct LiveTimer {
    shared: Arc<Shared>,
}

impl LiveTimer {
    /// Lets the watchdog look at once. A guest that waited in a host call may have been interrupted there,
    /// and must not begin another wait before it knows.
    pub(crate) fn look(&self) {
        if let Some(alarm) = &mut self.shared.state.lock().alarm {
            alarm.look(Instant::now());
        }
    }

    /// Notes whether the guest's program has noticed that it was interrupted.
    pub(crate) fn note_rest(&self) {
        let mut state = self.shared.state.lock();
        let soft = state.alarm.as_mut().and_then(|alarm| alarm.soft.as_mut());
        soft.into_iter().for_each(SoftStop::note_rest);
    }

    /// True if the guest was interrupted in this turn, and has noticed it.
    pub(crate) fn has_noticed(&self) -> bool {
        let state = self.shared.state.lock();
        let soft = state.alarm.as_ref().and_then(|alarm| alarm.soft.as_ref());
        soft.is_some_and(SoftStop::is_noticed)
    }

    /// Looks at nothing until [`Self::go_on`]: the guest waits for its next turn.
    pub(crate) fn stand(&self) {
        if let Some(alarm) = &mut self.shared.state.lock().alarm {
            alarm.stands_since = Some(Instant::now());
        }
    }

    /// Watches the guest again, in a turn with this deadline. No time has passed for its timer.
    pub(crate) fn go_on(&self, deadline: &Deadline) {
        self.watch_again(|alarm| {
            alarm.deadline = deadline.instant();
            alarm.canceller = deadline.canceller();
            if let Some(soft) = &mut alarm.soft {
                soft.begin_anew();
            }
        });
    }

    /// Watches the guest again, in the same turn with another end. No time has passed for its timer.
    pub(crate) fn go_on_until(&self, due: Instant) {
        self.watch_again(|alarm| alarm.deadline = due);
    }

    fn watch_again(&self, change: impl FnOnce(&mut Alarm)) {
        let mut state = self.shared.state.lock();
        let wakes_at = state.wakes_at;
        let Some(alarm) = state.alarm.as_mut() else { return };
        let now = Instant::now();
        if let Some(since) = alarm.stands_since.take() {
            alarm.bell.started += now.saturating_duration_since(since);
        }
        change(alarm);
        alarm.set_next(now);
        if wakes_at.is_none_or(|wakes_at| alarm.next < wakes_at) {
            self.shared.changed.notify_one();
        }
    }

    /// Answers the guest. `None` if it is not watched any more.
    pub(crate) fn answer(&self, request: TimerRequest) -> Option<Vec<u8>> {
        let mut state = self.shared.state.lock();
        let wakes_at = state.wakes_at;
        let alarm = state.alarm.as_mut()?;
        let now = alarm.bell.now();
        let answer = alarm.bell.timer.answer(request, now);
        if let Some(next) = alarm.bell.next(Instant::now()) {
            alarm.next = alarm.next.min(next);
            if wakes_at.is_none_or(|wakes_at| alarm.next < wakes_at) {
                self.shared.changed.notify_one();
            }
        }
        Some(answer)
    }
}

impl fmt::Debug for LiveTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveTimer").finish_non_exhaustive()
    }
}

/// A guest, as the watchdog sees it.
pub(crate) struct Watched {
    /// The way to interrupt it.
    pub(crate) interrupter: Interrupter,
    /// True if nobody waits for its run any more.
    pub is_cancelled: IsCancelled,
    /// True if its caller wants it to end.
    pub(crate) is_interrupted: IsInterrupted,
    /// Its fuel, if it has any.
    pub(crate) meter: Option<FuelMeter>,
    /// The pages that control it.
    pub(crate) pages: Arc<ControlPages>,
    /// The words by which it is told that its timer has run out; `None` for one without a timer.
    pub(crate) words: Option<SignalWords>,
    /// The words that interrupt it, with its state kept; `None` for one that is stopped at once.
    pub(crate) soft: Option<SignalWords>,
}

/// What the watchdog has done to a guest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WatchEnd {
    /// The reason why the guest was stopped, if it was. It may have completed before it noticed.
    pub(crate) stopped: Option<Stopped>,
    /// The reason why it was interrupted before, if it was.
    pub(crate) interrupted: Option<Stopped>,
    /// True if its program has noticed that before it came to rest.
    pub(crate) was_noticed: bool,
}

/// Keeps the alarm set.
pub(crate) struct Armed<'a>(&'a Watchdog);

impl Armed<'_> {
    /// Ends the watch. A signal that the guest has not noticed does not last until its next turn.
    pub(crate) fn disarm(self) -> WatchEnd {
        let Some(alarm) = self.0.shared.state.lock().alarm.take() else {
            return WatchEnd::default();
        };
        let Alarm { stopped, soft, .. } = alarm;
        if let Some(soft) = &soft {
            soft.settle();
        }
        let was_noticed = soft.as_ref().is_some_and(SoftStop::was_noticed);
        WatchEnd { stopped, interrupted: soft.and_then(|soft| soft.reason()), was_noticed }
    }
}

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        self.0.shared.state.lock().alarm = None;
    }
}

fn watch(shared: &Shared) {
    let mut state = shared.state.lock();
    while !state.ends {
        let now = Instant::now();
        state.wakes_at = state.alarm.as_mut().map(|alarm| {
            if alarm.next <= now {
                alarm.look(now);
            }
            alarm.next
        });
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
            // The thread itself has reported a panic.
            thread.join().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use wasmtime::{Instance, InstancePre, Linker, Module, Store, Trap, Val};

    use super::*;
    use crate::memory::{
        DirtyPages, MemoryHandle, MemoryImage, SlotMemories, SlotPool, SlotRules, Verify, WASM_PAGE,
    };
    use crate::run::deadline::Slept;
    use crate::run::ending::is_stop;
    use crate::run::signal_words::SIGINT;
    use crate::run::signal_words::TEST_PLACES;
    use wardian_engine::code::compile::{self, MAX_WASM_STACK};
    use wardian_engine::code::instrumentation::{Instrumentation, Variant};
    use wardian_engine::code::metering::transform::MARK_EXPORT;
    use wardian_engine::code::polls::Interruption;
    use wardian_formats::job::session::cell::INTERRUPT_GRACE;
    use wardian_vocabulary::units::Fuel;

    /// Functions that never end by themselves and never access memory. `tree` makes exponentially
    /// many calls, never deeper than 100.
    const ENDLESS: &str = r#"(module
        (import "host" "call" (func (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "spins") (loop br 0))
        (func (export "nested") (loop $outer (loop $inner (br_if $inner (i32.const 0))) br $outer))
        (func (export "inner") (loop $outer (loop $inner br $inner) br $outer))
        (func (export "counts") (local i64)
            (loop (local.set 0 (i64.add (local.get 0) (i64.const 1)))
                (br_if 0 (i64.ne (local.get 0) (i64.const -1)))))
        (func $tree (param i32)
            (if (local.get 0) (then
                (call $tree (i32.sub (local.get 0) (i32.const 1)))
                (call $tree (i32.sub (local.get 0) (i32.const 1))))))
        (func (export "tree") (call $tree (i32.const 100)))
        (func (export "ends"))
        (func (export "looks") (loop (br_if 0 (i32.eqz (i32.load (i32.const 272)))))))"#;

    /// Code on slots of an empty image, as a sandbox has it.
    struct Fixture {
        checks: Instrumentation,
        template: InstancePre<()>,
        memories: Arc<SlotMemories>,
        pool: Arc<SlotPool>,
        watchdog: Watchdog,
    }

    impl Fixture {
        fn new(checks: Instrumentation) -> Self {
            let memories = SlotMemories::new(WASM_PAGE);
            let mut config = compile::config(checks);
            config.with_host_memory(Arc::new(MemoryHandle(Arc::clone(&memories))));
            let engine = wasmtime::Engine::new(&config).unwrap();
            let source = wat::parse_str(ENDLESS).unwrap();
            let module = Module::new(&engine, checks.apply(&source).unwrap()).unwrap();
            let mut linker = Linker::new(&engine);
            let nothing = |_: i32, _: i32, _: i32, _: i32| 0_i32;
            linker.func_wrap("host", "call", nothing).unwrap();
            let image = MemoryImage::seal([0; WASM_PAGE].as_slice()).unwrap();
            let rules = SlotRules::new(1 << 20, Verify::Always, DirtyPages::best());
            Self {
                checks,
                template: linker.instantiate_pre(&module).unwrap(),
                memories,
                pool: SlotPool::new(MemoryImage::open(image).unwrap(), rules),
                watchdog: Watchdog::spawn().unwrap(),
            }
        }

        /// A guest, as the watchdog sees it. It has `budget` units of fuel, if its code counts.
        fn instantiate(
            &self,
            store: &mut Store<()>,
            budget: Fuel,
            is_cancelled: IsCancelled,
        ) -> (Instance, Watched) {
            let has_epochs = self.checks.interruption == Interruption::Epochs;
            if has_epochs {
                store.set_epoch_deadline(1);
            }
            let engine = store.engine().clone();
            let instantiate = || self.template.instantiate(&mut *store).unwrap();
            let (instance, pages) = self.memories.assign_image(&self.pool, instantiate);
            let pages = pages.unwrap();
            let meter = FuelMeter::start(&mut *store, &instance, &pages, budget).unwrap();
            if let Some(mark) = instance.get_global(&mut *store, MARK_EXPORT) {
                // The code tells nobody that its fuel is used up.
                mark.set(&mut *store, Val::I64(i64::MIN)).unwrap();
            }
            let interrupter = if has_epochs {
                Interrupter::Epoch(engine)
            } else {
                Interrupter::from(Arc::clone(&pages))
            };
            let is_interrupted = Box::new(|| false);
            let (words, soft) = (None, None);
            let watched =
                Watched { interrupter, is_cancelled, is_interrupted, meter, pages, words, soft };
            (instance, watched)
        }

        fn store(&self) -> Store<()> {
            Store::new(self.template.module().engine(), ())
        }

        fn run(
            &self,
            export: &str,
            time: Duration,
            is_cancelled: IsCancelled,
        ) -> (Option<Trap>, Option<Stopped>) {
            let mut store = self.store();
            let (instance, watched) = self.instantiate(&mut store, PLENTY, is_cancelled);
            let export = instance.get_typed_func::<(), ()>(&mut store, export).unwrap();
            let deadline = Deadline::after(time);
            let armed = self.watchdog.arm(watched, &deadline);
            let end = export.call(&mut store, ());
            let trap = end.err().map(|error| *error.downcast_ref::<Trap>().unwrap());
            (trap, armed.disarm().stopped)
        }

        fn trap(&self) -> Trap {
            match self.checks.interruption {
                Interruption::Polls => Trap::MemoryOutOfBounds,
                Interruption::Epochs => Trap::Interrupt,
            }
        }

        fn stop(&self, export: &str) {
            let end = self.run(export, Duration::from_millis(5), Box::new(|| false));
            assert_eq!(end, (Some(self.trap()), Some(Stopped::Deadline)), "{export}");
        }
    }

    const HOUR: Duration = Duration::from_secs(3600);
    const PLENTY: Fuel = Fuel(u64::MAX);

    /// On a thread whose stack is as large as in a worker.
    fn with_fixture(checks: impl Into<Instrumentation>, act: impl FnOnce(&Fixture) + Send) {
        let checks = checks.into();
        thread::scope(|scope| {
            let large = thread::Builder::new().stack_size(2 * MAX_WASM_STACK);
            let acting = large.spawn_scoped(scope, || act(&Fixture::new(checks)));
            acting.unwrap().join().unwrap();
        });
    }

    fn all_checks() -> impl Iterator<Item = Instrumentation> {
        Variant::ALL.into_iter().flat_map(|variant| {
            [Interruption::Polls, Interruption::Epochs]
                .map(|interruption| Instrumentation { variant, interruption })
        })
    }

    #[test]
    fn polls_everywhere_stop_every_endless_function() {
        for checks in all_checks() {
            with_fixture(checks, |fixture| {
                for export in ["spins", "nested", "inner", "counts", "tree", "spins"] {
                    fixture.stop(export);
                    let after = fixture.run("ends", HOUR, Box::new(|| false));
                    assert_eq!(after, (None, None), "the next guest runs, after {export}");
                }
            });
        }
    }

    #[test]
    fn a_guest_that_does_not_look_at_its_counter_is_stopped_when_it_is_used_up() {
        for checks in all_checks().filter(|checks| checks.variant == Variant::Metered) {
            with_fixture(checks, |fixture| {
                for export in ["spins", "nested", "inner", "counts", "tree"] {
                    let mut store = fixture.store();
                    let never = Box::new(|| false);
                    let (instance, watched) =
                        fixture.instantiate(&mut store, Fuel(1_000_000), never);
                    let meter = watched.meter.clone().unwrap();
                    let export = instance.get_typed_func::<(), ()>(&mut store, export).unwrap();
                    let deadline = Deadline::after(HOUR);
                    let armed = fixture.watchdog.arm(watched, &deadline);
                    let trap = export.call(&mut store, ()).unwrap_err();
                    assert_eq!(trap.downcast_ref::<Trap>(), Some(&fixture.trap()));
                    assert!(is_stop(&trap), "{trap:?}");
                    assert_eq!(armed.disarm(), WatchEnd::default(), "neither late nor cancelled");
                    assert!(meter.is_surely_exceeded());
                    assert_eq!(meter.used(), Fuel(1_000_000), "never more than the budget");
                }
            });
        }
    }

    #[test]
    fn an_abandoned_run_is_stopped_and_an_awaited_one_is_not() {
        for checks in all_checks() {
            with_fixture(checks, |fixture| {
                let asked = Arc::new(AtomicBool::new(false));
                let asks = Arc::clone(&asked);
                let second_time = Box::new(move || asks.swap(true, Ordering::SeqCst));
                let end = fixture.run("spins", HOUR, second_time);
                assert_eq!(end, (Some(fixture.trap()), Some(Stopped::Cancelled)));
                assert!(asked.load(Ordering::SeqCst));
            });
        }
    }

    /// The words of SIGINT, in a memory whose thread is at 64. `looks` ends once the first one is set.
    fn interrupt_words() -> SignalWords {
        let mut memory = [0; 256];
        memory[128] = 64;
        SignalWords::find(&TEST_PLACES, &memory, SIGINT).unwrap()
    }

    /// Runs a cell that is interrupted after a beat, and returns its trap, the end of the watch, whether
    /// a signal is left, and the time that it took.
    fn interrupt(fixture: &Fixture, export: &str) -> (Option<Trap>, WatchEnd, bool, Duration) {
        let mut store = fixture.store();
        let started = Instant::now();
        let (instance, watched) = fixture.instantiate(&mut store, PLENTY, Box::new(|| false));
        let export = instance.get_typed_func::<(), ()>(&mut store, export).unwrap();
        let deadline = Deadline::after(HOUR).with_grace(INTERRUPT_GRACE);
        let pages = Arc::clone(&watched.pages);
        let soft = Some(interrupt_words());
        let is_interrupted = Box::new(move || started.elapsed() >= BEAT);
        let armed = fixture.watchdog.arm(Watched { soft, is_interrupted, ..watched }, &deadline);
        let end = export.call(&mut store, ());
        let trap = end.err().map(|error| *error.downcast_ref::<Trap>().unwrap());
        let end = armed.disarm();
        let is_left = pages.load_word(interrupt_words().tripped).unwrap() != 0;
        (trap, end, is_left, started.elapsed())
    }

    #[test]
    fn an_interrupted_cell_ends_by_itself_or_after_its_grace() {
        for checks in all_checks() {
            with_fixture(checks, |fixture| {
                let interrupted = Some(Stopped::Interrupted);
                let (trap, end, is_left, took) = interrupt(fixture, "looks");
                assert_eq!(
                    (trap, end),
                    (None, WatchEnd { stopped: None, interrupted, was_noticed: false })
                );
                assert!(!is_left, "the signal would be that of the next turn");
                assert!(took < INTERRUPT_GRACE, "{took:?}");

                let (trap, end, is_left, took) = interrupt(fixture, "spins");
                let stopped = interrupted;
                assert_eq!(
                    (trap, end),
                    (Some(fixture.trap()), WatchEnd { stopped, interrupted, was_noticed: false })
                );
                assert!(!is_left && took >= INTERRUPT_GRACE, "{took:?}");
            });
        }
    }

    /// How often the interpreter finds the signal, which looks at its words all the time while `look` does.
    fn signals_taken(pages: &ControlPages, look: impl FnOnce()) -> u32 {
        let [(tripped, _), (any_tripped, _), _] = interrupt_words().signal();
        let is_set = |word| pages.load_word(word).unwrap() != 0;
        let take = |word| is_set(word) && pages.clear_bits(word, u32::MAX).is_ok();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let interpreter = scope.spawn(|| {
                let mut count = 0;
                while !is_over.load(Ordering::Acquire) || is_set(any_tripped) {
                    count += u32::from(take(any_tripped) && take(tripped));
                }
                count
            });
            look();
            is_over.store(true, Ordering::Release);
            interpreter.join().unwrap()
        })
    }

    #[test]
    fn a_signal_that_is_noticed_at_the_same_moment_interrupts_once() {
        with_fixture(Variant::Timed, |fixture| {
            let mut store = fixture.store();
            let (_, watched) = fixture.instantiate(&mut store, PLENTY, Box::new(|| false));
            let sleepers = Deadline::after(HOUR).canceller();
            let mut soft = SoftStop::new(Arc::clone(&watched.pages), interrupt_words());
            for round in 0..20_000 {
                let now = Instant::now();
                let interrupts = signals_taken(&watched.pages, || {
                    soft.begin(Stopped::Interrupted, now, &sleepers);
                    (0..20).for_each(|_| assert_eq!(soft.look(now, &sleepers), None));
                });
                assert_eq!(interrupts, 1, "in round {round}");
                soft.begin_anew();
            }
        });
    }

    #[test]
    fn a_program_at_rest_has_noticed_an_interrupt_or_not() {
        with_fixture(Variant::Timed, |fixture| {
            let mut store = fixture.store();
            let (_, watched) = fixture.instantiate(&mut store, PLENTY, Box::new(|| false));
            let sleepers = Deadline::after(HOUR).canceller();
            let mut soft = SoftStop::new(Arc::clone(&watched.pages), interrupt_words());
            let at_rest = |soft: &mut SoftStop| {
                soft.note_rest();
                soft.was_noticed()
            };
            assert!(!at_rest(&mut soft), "it was not interrupted");
            soft.begin(Stopped::Interrupted, Instant::now(), &sleepers);
            assert!(!at_rest(&mut soft), "it has not looked");
            watched.pages.clear_bits(interrupt_words().tripped, u32::MAX).unwrap();
            assert!(!soft.was_noticed(), "its program was at rest");
            assert!(at_rest(&mut soft));
            soft.begin_anew();
            assert!(!soft.was_noticed());
        });
    }

    /// As a signal, a timer that runs out.
    #[test]
    fn a_timer_that_is_noticed_at_the_same_moment_calls_once() {
        with_fixture(Variant::Timed, |fixture| {
            let mut store = fixture.store();
            let (_, watched) = fixture.instantiate(&mut store, PLENTY, Box::new(|| false));
            let pages = &watched.pages;
            let words = interrupt_words();
            for round in 0..20_000 {
                let mut timer = IntervalTimer::default();
                let (first, interval) = (Duration::from_nanos(1), Duration::ZERO);
                timer.answer(TimerRequest::Set { first, interval }, Duration::ZERO);
                let started = Instant::now();
                let now = started + Duration::from_secs(1);
                let (pages, words) = (Arc::clone(pages), Some(words));
                let mut bell = Bell { timer, started, pages, words, is_ringing: false };
                let calls = signals_taken(&watched.pages, || (0..20).for_each(|_| bell.look(now)));
                assert_eq!(calls, 1, "in round {round}");
            }
        });
    }

    #[test]
    fn a_turn_that_is_no_cell_is_stopped_at_once_by_an_interruption() {
        with_fixture(Variant::Timed, |fixture| {
            let mut store = fixture.store();
            let (instance, watched) = fixture.instantiate(&mut store, PLENTY, Box::new(|| false));
            let spins = instance.get_typed_func::<(), ()>(&mut store, "spins").unwrap();
            let is_interrupted = Box::new(|| true);
            let deadline = Deadline::after(HOUR);
            let armed = fixture.watchdog.arm(Watched { is_interrupted, ..watched }, &deadline);
            spins.call(&mut store, ()).unwrap_err();
            let stopped = Some(Stopped::Interrupted);
            assert_eq!(armed.disarm(), WatchEnd { stopped, ..WatchEnd::default() });
        });
    }

    #[test]
    fn a_cell_is_interrupted_at_its_deadline_and_while_it_sleeps() {
        with_fixture(Variant::Timed, |fixture| {
            let mut store = fixture.store();
            let started = Instant::now();
            let (_, watched) = fixture.instantiate(&mut store, PLENTY, Box::new(|| false));
            let deadline = Deadline::after(Duration::from_millis(20)).with_grace(INTERRUPT_GRACE);
            let soft = Some(interrupt_words());
            let armed = fixture.watchdog.arm(Watched { soft, ..watched }, &deadline);
            assert_eq!(deadline.sleep(HOUR), Ok(Slept::ToSignal));
            assert!(started.elapsed() < INTERRUPT_GRACE / 2);
            let stopped = loop {
                if let Err(stopped) = deadline.sleep(HOUR) {
                    break stopped;
                }
            };
            assert!(started.elapsed() >= INTERRUPT_GRACE);
            // A sleep ends by itself at the end of the grace; the watchdog may not have looked yet.
            let end = armed.disarm();
            assert_eq!((stopped, end.interrupted), (Stopped::Deadline, Some(Stopped::Deadline)));
            assert!(end.stopped.is_none_or(|stopped| stopped == Stopped::Deadline), "{end:?}");
        });
    }

    #[test]
    fn a_cell_that_nobody_waits_for_has_no_grace() {
        with_fixture(Variant::Timed, |fixture| {
            let mut store = fixture.store();
            let (_, watched) = fixture.instantiate(&mut store, PLENTY, Box::new(|| true));
            let deadline = Deadline::after(HOUR).with_grace(INTERRUPT_GRACE);
            let soft = Some(interrupt_words());
            let armed = fixture.watchdog.arm(Watched { soft, ..watched }, &deadline);
            assert_eq!(deadline.sleep(HOUR), Err(Stopped::Cancelled));
            let stopped = Some(Stopped::Cancelled);
            assert_eq!(armed.disarm(), WatchEnd { stopped, ..WatchEnd::default() });
        });
    }

    #[test]
    fn a_sleeping_guest_is_woken_when_its_run_is_abandoned() {
        with_fixture(Variant::Timed, |fixture| {
            let mut store = fixture.store();
            let (deadline, started) = (Deadline::after(HOUR), Instant::now());
            let gone = started + 3 * BEAT;
            let is_cancelled = Box::new(move || Instant::now() >= gone);
            let (_, watched) = fixture.instantiate(&mut store, PLENTY, is_cancelled);
            let armed = fixture.watchdog.arm(watched, &deadline);

            assert_eq!(deadline.sleep(HOUR), Err(Stopped::Cancelled));

            assert!(started.elapsed() >= 3 * BEAT, "stopped while a caller waited");
            assert_eq!(armed.disarm().stopped, Some(Stopped::Cancelled));
        });
    }

    #[test]
    fn an_earlier_deadline_is_noticed_while_the_watchdog_sleeps() {
        with_fixture(Variant::Timed, |fixture| {
            assert_eq!(fixture.run("ends", HOUR, Box::new(|| false)), (None, None));
            fixture.stop("spins");
        });
    }

    #[test]
    fn only_the_armed_are_stopped() {
        for checks in all_checks() {
            with_fixture(checks, |fixture| {
                for _ in 0..200 {
                    // The deadline strikes about when the guest ends, before or after.
                    let end = fixture.run("ends", Duration::from_micros(20), Box::new(|| false));
                    let is_known = matches!(end, (None, _) | (Some(_), Some(Stopped::Deadline)));
                    assert!(is_known, "{end:?}");
                    let after = fixture.run("ends", HOUR, Box::new(|| false));
                    assert_eq!(after, (None, None), "an alarm outlived its run");
                }
            });
        }
    }

    #[test]
    fn watchdog_ends_with_its_value() {
        with_fixture(Variant::Timed, |fixture| {
            let watchdog = Watchdog::spawn().unwrap();
            let shared = Arc::downgrade(&watchdog.shared);
            let mut store = fixture.store();
            let (_, watched) = fixture.instantiate(&mut store, PLENTY, Box::new(|| false));
            let deadline = Deadline::after(HOUR);
            drop(watchdog.arm(watched, &deadline));
            drop(watchdog);
            assert!(shared.upgrade().is_none(), "the thread still holds its state");
        });
    }
}
