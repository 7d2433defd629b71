//! The only source of time and randomness for a guest.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};

use wardian_formats::job::Reproducible;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::units::Fuel;

/// Step of the clocks that guests see, 1 ms. With a finer clock a guest could time the processor
/// caches that it shares with other guests and infer their secrets.
pub(crate) const DEFAULT_RESOLUTION: Duration = Duration::from_millis(1);

/// The monotonic clock at the start of a run. Images are made with a clock that starts
/// at zero, so no time that an image remembers is later than the time of a run.
pub(crate) const RUN_START: Duration = Duration::from_secs(3600);

/// The source of time and random bytes: the machine, or a seed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ClockAndRandomMode {
    /// Time passes, randomness comes from the operating system.
    Live,
    /// The same in each run: randomness follows from the seed, each reading of a clock advances it
    /// by one step, and sleeping advances it by the time slept.
    Seeded {
        /// Decides all randomness.
        seed: [u8; 32],
        /// The first time of day, since the Unix epoch.
        realtime: Duration,
    },
    /// The same in each run, for metered code: randomness follows from the seed, each unit of fuel
    /// advances the clocks by one nanosecond, and sleeping advances them by the time slept. A guest
    /// learns nothing from these clocks, so they are exact.
    Fueled {
        /// Decides all randomness.
        seed: [u8; 32],
        /// The first time of day, since the Unix epoch.
        realtime: Duration,
    },
}

impl ClockAndRandomMode {
    /// The mode of a reproducible guest.
    #[must_use]
    pub fn of_reproducible(run: Reproducible) -> Self {
        let seed = Sha256::new().chain_update(b"wardian seed\0");
        let seed = seed.chain_update(run.seed.to_le_bytes()).finalize().into();
        Self::Fueled { seed, realtime: run.epoch }
    }

    /// A mode that such a state can belong to. Its seed is unknown.
    #[must_use]
    pub(crate) const fn of_state(state: &ParkedSeeded) -> Self {
        let (seed, realtime) = ([0; 32], Duration::ZERO);
        match state.fuel {
            None => Self::Seeded { seed, realtime },
            Some(_) => Self::Fueled { seed, realtime },
        }
    }
}

/// Never prints the seed.
impl fmt::Debug for ClockAndRandomMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, realtime) = match self {
            Self::Live => return f.write_str("Live"),
            Self::Seeded { realtime, .. } => ("Seeded", realtime),
            Self::Fueled { realtime, .. } => ("Fueled", realtime),
        };
        f.debug_struct(name).field("realtime", realtime).finish_non_exhaustive()
    }
}

/// The clocks and the randomness of one guest. They go on from turn to turn.
#[derive(Debug)]
pub struct ClockAndRandom {
    source: Source,
    resolution: Duration,
    monotonic_start: Duration,
    shown_realtime: Shown,
    shown_monotonic: Shown,
    shown_elapsed: Shown,
}

/// The step that a clock showed last, and how often.
#[derive(Debug, Default)]
struct Shown {
    step: Duration,
    times: u32,
}

impl Shown {
    /// Adds a count of readings, in microseconds, to a time in whole steps. So two readings are
    /// seldom equal, and a program may divide by their difference.
    fn counted(&mut self, step: Duration, resolution: Duration) -> Duration {
        self.times = if self.step == step { self.times.saturating_add(1) } else { 0 };
        self.step = step;
        let counted = Duration::from_micros(self.times.into());
        let most = resolution.saturating_sub(Duration::from_micros(1));
        step.saturating_add(counted.min(most))
    }
}

#[derive(Debug)]
enum Source {
    /// `before` is the time that had passed when the guest was parked and resumed.
    Live {
        clock: Clock,
        started: Instant,
        before: Duration,
    },
    Seeded {
        realtime: Duration,
        passed: Duration,
        pace: Pace,
        random: SeededRandom,
    },
}

/// What advances seeded clocks besides sleeping.
#[derive(Debug, Clone, Copy)]
enum Pace {
    /// Each reading, by one step.
    Readings,
    /// Fuel that is used.
    Fuel { budget: u64, left: u64 },
}

impl Pace {
    /// The time that the clock advances by when it is read.
    const fn of_reading(self, step: Duration) -> Duration {
        match self {
            Self::Readings => step,
            Self::Fuel { .. } => Duration::ZERO,
        }
    }

    /// The time that has passed without sleeping and reading.
    const fn of_work(self) -> Duration {
        match self {
            Self::Readings => Duration::ZERO,
            Self::Fuel { budget, left } => Duration::from_nanos(budget.saturating_sub(left)),
        }
    }
}

/// The clocks and the randomness of a guest between two turns. The seed and the time of day of a
/// reproducible guest are those of its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParkedClocks {
    /// The time that has passed on the monotonic clock.
    pub(crate) passed: Duration,
    /// What the guest has of its seed; `None` for a live one.
    pub(crate) seeded: Option<ParkedSeeded>,
    /// The step that each clock showed last, and how often: time of day, monotonic, processor.
    pub(crate) shown: [(Duration, u32); 3],
}

/// The state of seeded clocks and randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParkedSeeded {
    /// Random bytes that were drawn.
    pub(crate) drawn: u64,
    /// The fuel of the last turn and what was left of it when the clock was last read, if fuel
    /// advances the clock.
    pub(crate) fuel: Option<(u64, u64)>,
}

impl ClockAndRandom {
    /// The state of the clocks and of the randomness.
    #[must_use]
    pub(crate) fn parked(&self) -> ParkedClocks {
        let (passed, seeded) = match &self.source {
            Source::Live { started, before, .. } => {
                (before.saturating_add(started.elapsed()), None)
            }
            Source::Seeded { passed, pace, random, .. } => {
                let fuel = match pace {
                    Pace::Readings => None,
                    Pace::Fuel { budget, left } => Some((*budget, *left)),
                };
                (*passed, Some(ParkedSeeded { drawn: random.drawn(), fuel }))
            }
        };
        let clocks = [&self.shown_realtime, &self.shown_monotonic, &self.shown_elapsed];
        let shown = clocks.map(|shown| (shown.step, shown.times));
        ParkedClocks { passed, seeded, shown }
    }

    /// Lets clocks that have just begun go on from a parked state. The time in between does not pass on
    /// the monotonic clock. Returns false if they are of another kind.
    #[must_use]
    pub(crate) fn go_on_from(&mut self, parked: &ParkedClocks) -> bool {
        match (&mut self.source, parked.seeded) {
            (Source::Live { started, before, .. }, None) => {
                (*started, *before) = (Instant::now(), parked.passed);
            }
            (Source::Seeded { passed, pace, random, .. }, Some(seeded)) => {
                match (pace, seeded.fuel) {
                    (Pace::Readings, None) => {}
                    (Pace::Fuel { budget, left }, Some(fuel)) => (*budget, *left) = fuel,
                    _ => return false,
                }
                *passed = parked.passed;
                random.skip_to(seeded.drawn);
            }
            _ => return false,
        }
        let [realtime, monotonic, elapsed] =
            parked.shown.map(|(step, times)| Shown { step, times });
        self.shown_realtime = realtime;
        self.shown_monotonic = monotonic;
        self.shown_elapsed = elapsed;
        true
    }

    /// The clocks of a guest that starts now. `clock` is the time of day of a live run.
    #[must_use]
    pub fn new(mode: ClockAndRandomMode, clock: Clock) -> Self {
        let seeded = |seed, realtime, pace| Source::Seeded {
            realtime,
            passed: Duration::ZERO,
            pace,
            random: SeededRandom { seed, block: 0, unused: [0; 32], left: 0 },
        };
        let (source, resolution) = match mode {
            ClockAndRandomMode::Live => {
                let before = Duration::ZERO;
                (Source::Live { clock, started: Instant::now(), before }, DEFAULT_RESOLUTION)
            }
            ClockAndRandomMode::Seeded { seed, realtime } => {
                (seeded(seed, realtime, Pace::Readings), DEFAULT_RESOLUTION)
            }
            ClockAndRandomMode::Fueled { seed, realtime } => {
                let pace = Pace::Fuel { budget: 0, left: 0 };
                (seeded(seed, realtime, pace), Duration::from_nanos(1))
            }
        };
        Self {
            source,
            resolution,
            monotonic_start: RUN_START,
            shown_realtime: Shown::default(),
            shown_monotonic: Shown::default(),
            shown_elapsed: Shown::default(),
        }
    }

    /// Sets the step of the clocks; at least 1 ns.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn with_resolution(self, resolution: Duration) -> Self {
        Self { resolution: resolution.max(Duration::from_nanos(1)), ..self }
    }

    /// Sets the start of the monotonic clock: [`RUN_START`] for runs, zero for images.
    #[must_use]
    pub(crate) fn with_monotonic_start(self, monotonic_start: Duration) -> Self {
        Self { monotonic_start, ..self }
    }

    /// The step of both clocks.
    #[must_use]
    pub(crate) const fn resolution(&self) -> Duration {
        self.resolution
    }

    /// True if the clocks have to be told of used fuel.
    #[must_use]
    pub(crate) const fn counts_fuel(&self) -> bool {
        matches!(self.source, Source::Seeded { pace: Pace::Fuel { .. }, .. })
    }

    /// Gives clocks that count fuel a new budget. They go on where they are.
    pub(crate) fn refuel(&mut self, Fuel(more): Fuel) {
        if let Source::Seeded { passed, pace, .. } = &mut self.source
            && let Pace::Fuel { .. } = pace
        {
            *passed = passed.saturating_add(pace.of_work());
            *pace = Pace::Fuel { budget: more, left: more };
        }
    }

    /// Advances clocks that count fuel to the moment at which so much of it is left.
    pub(crate) const fn note_fuel(&mut self, left_now: u64) {
        if let Source::Seeded { pace: Pace::Fuel { left, .. }, .. } = &mut self.source {
            *left = left_now;
        }
    }

    /// Time since the Unix epoch, in whole steps.
    pub fn realtime(&mut self) -> Duration {
        self.advance();
        self.coarse(self.exact_realtime())
    }

    /// Time on a clock that never goes back, in whole steps.
    pub fn monotonic(&mut self) -> Duration {
        self.advance();
        self.coarse(self.exact_monotonic())
    }

    /// Notes a reading.
    const fn advance(&mut self) {
        if let Source::Seeded { passed, pace, .. } = &mut self.source {
            *passed = passed.saturating_add(pace.of_reading(self.resolution));
        }
    }

    /// Time since the run started, in whole steps.
    pub fn elapsed(&mut self) -> Duration {
        self.monotonic().saturating_sub(self.coarse(self.monotonic_start))
    }

    /// The time of day that a guest reads. The digits below a step are a count of its readings and
    /// not time.
    pub(crate) fn read_realtime(&mut self) -> Duration {
        let step = self.realtime();
        self.shown_realtime.counted(step, self.resolution)
    }

    /// The monotonic time that a guest reads, with a count as in [`Self::read_realtime`].
    pub(crate) fn read_monotonic(&mut self) -> Duration {
        let step = self.monotonic();
        self.shown_monotonic.counted(step, self.resolution)
    }

    /// The processor time that a guest reads, with a count as in
    /// [`Self::read_realtime`].
    pub(crate) fn read_elapsed(&mut self) -> Duration {
        let step = self.elapsed();
        self.shown_elapsed.counted(step, self.resolution)
    }

    /// Time until the monotonic clock shows at least `target`.
    #[must_use]
    pub(crate) fn until_monotonic(&self, target: Duration) -> Duration {
        self.next_step(target).saturating_sub(self.exact_monotonic())
    }

    /// Time until the time of day is at least `target`.
    #[must_use]
    pub(crate) fn until_realtime(&self, target: Duration) -> Duration {
        self.next_step(target).saturating_sub(self.exact_realtime())
    }

    /// Advances seeded clocks by `time`. Returns false for live clocks, for which the caller has to
    /// wait.
    pub const fn skip(&mut self, time: Duration) -> bool {
        match &mut self.source {
            Source::Live { .. } => false,
            Source::Seeded { passed, .. } => {
                *passed = passed.saturating_add(time);
                true
            }
        }
    }

    /// Fills `bytes` with randomness, in place.
    ///
    /// # Errors
    ///
    /// The operating system reports an error.
    pub fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        match &mut self.source {
            Source::Live { .. } => fill_from_system(bytes),
            Source::Seeded { random, .. } => {
                random.fill(bytes);
                Ok(())
            }
        }
    }

    fn exact_realtime(&self) -> Duration {
        match &self.source {
            Source::Live { clock, .. } => clock.now(),
            Source::Seeded { realtime, passed, pace, .. } => {
                realtime.saturating_add(*passed).saturating_add(pace.of_work())
            }
        }
    }

    fn exact_monotonic(&self) -> Duration {
        let passed = match &self.source {
            Source::Live { started, before, .. } => before.saturating_add(started.elapsed()),
            Source::Seeded { passed, pace, .. } => passed.saturating_add(pace.of_work()),
        };
        self.monotonic_start.saturating_add(passed)
    }

    fn coarse(&self, time: Duration) -> Duration {
        time.saturating_sub(self.past_step(time))
    }

    fn next_step(&self, time: Duration) -> Duration {
        let past = self.past_step(time);
        if past.is_zero() {
            time
        } else {
            time.saturating_add(self.resolution.saturating_sub(past))
        }
    }

    /// The part of `time` beyond a whole step.
    fn past_step(&self, time: Duration) -> Duration {
        let past = time.as_nanos().checked_rem(self.resolution.as_nanos()).unwrap_or(0);
        u64::try_from(past).map_or(Duration::ZERO, Duration::from_nanos)
    }
}

fn fill_from_system(bytes: &mut [u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match getrandom(&mut *rest, GetRandomFlags::empty()) {
            Ok(count) => rest = rest.get_mut(count..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// SHA-256 of the seed and a counter, block after block. The stream does not depend on the sizes of
/// the requests.
struct SeededRandom {
    seed: [u8; 32],
    block: u64,
    unused: [u8; SeededRandom::BLOCK],
    /// The number of bytes at the end of `unused` that were not returned yet.
    left: usize,
}

impl SeededRandom {
    /// Bytes of a block.
    const BLOCK: usize = 32;

    fn next_block(&mut self) {
        let hash = Sha256::new().chain_update(b"wardian random\0").chain_update(self.seed);
        self.unused = hash.chain_update(self.block.to_le_bytes()).finalize().into();
        self.block = self.block.wrapping_add(1);
        self.left = Self::BLOCK;
    }

    /// The number of bytes that were returned. No guest lives long enough to draw 2^64.
    fn drawn(&self) -> u64 {
        let left = u64::try_from(self.left).unwrap_or_default();
        self.block.wrapping_mul(Self::BLOCK as u64).wrapping_sub(left)
    }

    /// Goes to the place after so many bytes.
    fn skip_to(&mut self, drawn: u64) {
        let block = Self::BLOCK as u64;
        self.block = drawn / block;
        self.left = 0;
        if let Some(used) = usize::try_from(drawn % block).ok().filter(|used| *used > 0) {
            self.next_block();
            self.left = Self::BLOCK.saturating_sub(used);
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if self.left == 0 {
                self.next_block();
            }
            let next = self.unused.len().saturating_sub(self.left);
            *byte = self.unused.get(next).copied().unwrap_or_default();
            self.left = self.left.saturating_sub(1);
        }
    }
}

/// Never prints the seed.
impl fmt::Debug for SeededRandom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeededRandom").field("block", &self.block).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::job::FuelRules;

    const SEEDED: ClockAndRandomMode =
        ClockAndRandomMode::Seeded { seed: [7; 32], realtime: Duration::from_secs(1_000_000_000) };

    fn seeded() -> ClockAndRandom {
        ClockAndRandom::new(SEEDED, Clock::System)
    }

    fn take(clock_and_random: &mut ClockAndRandom, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        clock_and_random.fill(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn parked_randomness_goes_on_at_any_place() {
        for drawn in [0, 1, 31, 32, 33, 64, 100] {
            let mut original = seeded();
            take(&mut original, drawn);
            let mut resumed = seeded();
            assert!(resumed.go_on_from(&original.parked()));
            assert_eq!(take(&mut resumed, 70), take(&mut original, 70), "after {drawn} bytes");
            assert_eq!(resumed.parked(), original.parked());
        }
    }

    #[test]
    fn parked_clocks_go_on_where_they_were() {
        let fueled = ClockAndRandomMode::Fueled { seed: [7; 32], realtime: Duration::ZERO };
        for mode in [SEEDED, fueled] {
            let make = || ClockAndRandom::new(mode, Clock::System);
            let mut original = make();
            original.refuel(Fuel(1_000));
            original.skip(Duration::from_millis(7));
            original.note_fuel(400);
            original.read_realtime();
            original.read_monotonic();
            let mut resumed = make();
            assert!(resumed.go_on_from(&original.parked()));
            for clocks in [&mut original, &mut resumed] {
                clocks.refuel(Fuel(50));
                clocks.note_fuel(10);
            }
            assert_eq!(resumed.read_realtime(), original.read_realtime());
            assert_eq!(resumed.read_monotonic(), original.read_monotonic());
            assert_eq!(resumed.read_elapsed(), original.read_elapsed());
        }
    }

    #[test]
    fn parked_time_does_not_pass() {
        let live = || ClockAndRandom::new(ClockAndRandomMode::Live, Clock::System);
        let hour = Duration::from_secs(3600);
        let mut parked = live().parked();
        parked.passed = hour;
        let mut resumed = live();
        assert!(resumed.go_on_from(&parked));
        let elapsed = resumed.read_elapsed();
        assert!(elapsed >= hour && elapsed < hour + Duration::from_secs(60), "{elapsed:?}");
        let monotonic = resumed.monotonic();
        assert!(monotonic >= RUN_START + hour, "{monotonic:?}");
    }

    #[test]
    fn readings_of_a_resumed_clock_go_on_within_a_step() {
        let odd = Duration::new(1_700_000_000, 123_456_789);
        let make = || ClockAndRandom::new(ClockAndRandomMode::Live, Clock::Fixed(odd));
        let mut original = make();
        let last = [(); 5].map(|()| original.read_realtime()).into_iter().max().unwrap();
        let mut resumed = make();
        assert!(resumed.go_on_from(&original.parked()));
        assert!(resumed.read_realtime() > last);
    }

    #[test]
    fn clocks_of_another_kind_are_refused() {
        let fueled = ClockAndRandomMode::Fueled { seed: [7; 32], realtime: Duration::ZERO };
        let modes = [ClockAndRandomMode::Live, SEEDED, fueled];
        for (at, mode) in modes.iter().enumerate() {
            for (other, other_mode) in modes.iter().enumerate() {
                let parked = ClockAndRandom::new(*mode, Clock::System).parked();
                let mut clocks = ClockAndRandom::new(*other_mode, Clock::System);
                assert_eq!(clocks.go_on_from(&parked), at == other);
            }
        }
    }

    #[test]
    fn clocks_show_whole_steps_only() {
        let odd = Duration::new(1_700_000_000, 123_456_789);
        let mut clock_and_random = ClockAndRandom::new(ClockAndRandomMode::Live, Clock::Fixed(odd));
        assert_eq!(clock_and_random.realtime(), Duration::new(1_700_000_000, 123_000_000));
        for _ in 0..1000 {
            assert_eq!(clock_and_random.monotonic().as_nanos() % 1_000_000, 0);
        }
        let mut fine = clock_and_random.with_resolution(Duration::ZERO);
        assert_eq!(fine.realtime(), odd);
    }

    #[test]
    fn readings_within_one_step_differ_by_a_count_alone() {
        let odd = Duration::new(1_700_000_000, 123_456_789);
        let mut clock_and_random = ClockAndRandom::new(ClockAndRandomMode::Live, Clock::Fixed(odd));
        let readings = [(); 1002].map(|()| clock_and_random.read_realtime().subsec_micros());
        let counted = |index: usize| readings.get(index).copied();
        assert_eq!([counted(0), counted(1), counted(999)], [123_000, 123_001, 123_999].map(Some));
        assert_eq!(counted(1001), Some(123_999), "a reading is beyond the step");
        let (one, two) = (clock_and_random.read_monotonic(), clock_and_random.read_monotonic());
        assert!(one < two);
        assert!(clock_and_random.read_elapsed() < clock_and_random.read_elapsed());
    }

    #[test]
    fn a_run_starts_after_every_time_that_an_image_remembers() {
        let mut image = ClockAndRandom::new(ClockAndRandomMode::Live, Clock::System)
            .with_monotonic_start(Duration::ZERO);
        let mut run = ClockAndRandom::new(ClockAndRandomMode::Live, Clock::System);
        assert!(image.monotonic() < Duration::from_secs(60));
        assert!(run.monotonic() >= RUN_START && run.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn waiting_for_the_returned_time_reaches_the_target() {
        let mut clock_and_random = seeded();
        for target in [Duration::from_nanos(3_600_001_500_001), Duration::from_secs(3601)] {
            assert!(clock_and_random.skip(clock_and_random.until_monotonic(target)));
            assert!(clock_and_random.coarse(clock_and_random.exact_monotonic()) >= target);
        }
        let target = Duration::from_nanos(1_000_000_009_000_000_001);
        assert!(clock_and_random.skip(clock_and_random.until_realtime(target)));
        assert_eq!(clock_and_random.until_realtime(target), Duration::ZERO);
        assert!(!ClockAndRandom::new(ClockAndRandomMode::Live, Clock::System).skip(Duration::ZERO));
    }

    #[test]
    fn a_seed_gives_the_same_run_again() {
        let (mut one, mut two) = (seeded(), seeded());
        assert_eq!(one.realtime(), two.realtime());
        assert_eq!(one.monotonic(), two.monotonic());
        assert!(one.monotonic() > two.monotonic() || one.monotonic() > one.elapsed());
        let whole = take(&mut one, 100);
        let pieces: Vec<u8> =
            [1, 31, 32, 36].iter().flat_map(|&count| take(&mut two, count)).collect();
        assert_eq!(whole, pieces);
        let mut other = ClockAndRandom::new(
            ClockAndRandomMode::Seeded { seed: [8; 32], realtime: Duration::ZERO },
            Clock::System,
        );
        assert_ne!(take(&mut other, 100), whole);
    }

    #[test]
    fn fuel_and_sleep_advance_exact_clocks_and_readings_do_not() {
        let epoch = Duration::from_secs(500);
        let clocks = |seed| {
            let run = Reproducible { seed, epoch, fuel_rules: FuelRules::PRESENT };
            let mode = ClockAndRandomMode::of_reproducible(run);
            let mut clocks = ClockAndRandom::new(mode, Clock::System);
            clocks.refuel(Fuel(u64::MAX));
            clocks
        };
        let (mut other, mut clocks) = (clocks(4), clocks(3));
        assert!(clocks.counts_fuel() && !seeded().counts_fuel());
        assert_eq!([clocks.read_realtime(), clocks.read_realtime()], [epoch; 2]);
        clocks.note_fuel(u64::MAX - 1_234_567_891);
        assert_eq!(clocks.read_realtime() - epoch, Duration::from_nanos(1_234_567_891));
        assert_eq!(clocks.read_elapsed(), Duration::from_nanos(1_234_567_891));
        assert!(clocks.skip(Duration::from_secs(9)));
        assert_eq!(clocks.read_monotonic(), RUN_START + Duration::from_nanos(10_234_567_891));
        assert_eq!(
            clocks.until_realtime(epoch + Duration::from_secs(11)).subsec_nanos(),
            765_432_109
        );
        assert_ne!(take(&mut other, 32), take(&mut clocks, 32));
    }

    #[test]
    fn clocks_that_count_fuel_go_on_with_the_fuel_of_the_next_turn() {
        let run = Reproducible { seed: 3, epoch: Duration::ZERO, fuel_rules: FuelRules::PRESENT };
        let mode = ClockAndRandomMode::of_reproducible(run);
        let mut clocks = ClockAndRandom::new(mode, Clock::System);
        assert_eq!(clocks.read_realtime(), Duration::ZERO);
        for turn in 1..=3 {
            clocks.refuel(Fuel(1_000));
            assert_eq!(clocks.read_realtime(), Duration::from_nanos(700 * (turn - 1)));
            clocks.note_fuel(300);
            assert_eq!(clocks.read_realtime(), Duration::from_nanos(700 * turn));
        }
    }

    #[test]
    fn live_randomness_differs() {
        let mut clock_and_random = ClockAndRandom::new(ClockAndRandomMode::Live, Clock::System);
        assert_ne!(take(&mut clock_and_random, 64), take(&mut clock_and_random, 64));
        assert_eq!(take(&mut clock_and_random, 1 << 20).len(), 1 << 20);
    }
}
