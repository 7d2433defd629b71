//! Time, statements on their way, what goes wrong, and what must hold.

use std::collections::BTreeMap;

use crate::orders::StatementUnanswered;
use crate::simulation::database::{Database, End, Planted, Run, Statement, StatementAnswer};
use crate::simulation::dice::Dice;
use crate::simulation::server::{LEASE, SimulatedServer};

/// Milliseconds between two moments.
const MOMENT: u64 = 25;

/// How long things go wrong.
const TROUBLE: u64 = 12_000;

/// How long a fleet may take to settle afterwards.
const SETTLED: u64 = 40_000;

/// What goes wrong in a world.
#[derive(Debug, Clone, Copy)]
pub(super) struct Troubles {
    pub(super) kills: bool,
    pub(super) pauses: bool,
    pub(super) outages: bool,
    pub(super) losses: bool,
    pub(super) drains: bool,
    pub(super) cancels: bool,
    pub(super) repeats: bool,
}

struct Place {
    server: Option<SimulatedServer>,
    /// Counts its lives: answers of a former one reach nobody.
    life: u64,
    /// It does nothing before.
    paused_until: u64,
    /// It starts then, if it is down.
    starts_at: u64,
    workers: usize,
    lacks: u32,
}

/// A statement on its way.
struct Flight {
    server: usize,
    life: u64,
    statement: Statement,
    /// When it is executed; never, if it is lost.
    executed_at: Option<u64>,
    answered_at: u64,
    answer: Result<StatementAnswer, StatementUnanswered>,
}

pub(super) struct SimulatedFleet {
    seed: u64,
    now: u64,
    dice: Dice,
    database: Database,
    is_down: bool,
    troubles: Troubles,
    places: Vec<Place>,
    flights: Vec<Flight>,
    executed: BTreeMap<Run, u32>,
    to_submit: Vec<Run>,
    runs: Run,
}

impl SimulatedFleet {
    pub(super) fn new(seed: u64, servers: usize, troubles: Troubles, planted: Planted) -> Self {
        let mut dice = Dice::new(seed);
        let runs =
            12 + u32::try_from(dice.below(20)).unwrap_or(0) + u32::try_from(servers).unwrap_or(0);
        let places = (0..servers).map(|_| Place {
            server: None,
            life: 0,
            paused_until: 0,
            starts_at: dice.below(400),
            workers: 1 + usize::try_from(dice.below(3)).unwrap_or(0),
            // One executes all, so that nothing waits in vain.
            lacks: 7,
        });
        let mut places: Vec<Place> = places.collect();
        for place in places.iter_mut().skip(1) {
            if dice.one_in(3) {
                place.lacks = u32::try_from(dice.below(7)).unwrap_or(7);
            }
        }
        let mut to_submit: Vec<Run> = (0..runs).collect();
        to_submit.reverse();
        let database = Database::new(LEASE, planted);
        let (flights, executed) = (Vec::new(), BTreeMap::new());
        Self {
            seed,
            now: 0,
            dice,
            database,
            is_down: false,
            troubles,
            places,
            flights,
            executed,
            to_submit,
            runs,
        }
    }

    /// Lives until all runs have ended. The error says what is wrong.
    pub(super) fn live(mut self) -> Result<u64, String> {
        while self.now < TROUBLE + SETTLED {
            self.now += MOMENT;
            self.database.now += MOMENT;
            if self.now < TROUBLE {
                self.trouble();
            } else {
                self.is_down = false;
            }
            self.start();
            self.submit();
            self.act();
            self.deliver();
            if let Some(broken) = self.database.broken.take() {
                return Err(self.wrong(&broken));
            }
            if self.now > TROUBLE && self.is_settled() {
                return Ok(self.interrupted());
            }
        }
        let open = (0..self.runs).filter(|run| !self.database.ends.contains_key(run));
        let open: Vec<Run> = open.collect();
        Err(self.wrong(&format!("runs without an end: {open:?}")))
    }

    fn wrong(&self, what: &str) -> String {
        format!("seed {}, {} servers, {} ms: {what}", self.seed, self.places.len(), self.now)
    }

    /// The runs that ended as interrupted.
    fn interrupted(&self) -> u64 {
        let interrupted = self.database.ends.values().filter(|end| **end == End::Interrupted);
        u64::try_from(interrupted.count()).unwrap_or(u64::MAX)
    }

    fn is_settled(&self) -> bool {
        self.to_submit.is_empty()
            && self.database.ends.len() >= usize::try_from(self.runs).unwrap_or(0)
    }

    fn trouble(&mut self) {
        let Troubles { kills, pauses, outages, drains, cancels, .. } = self.troubles;
        if outages && self.dice.one_in(if self.is_down { 40 } else { 160 }) {
            self.is_down = !self.is_down;
        }
        if cancels && self.dice.one_in(30) {
            let run = u32::try_from(self.dice.below(u64::from(self.runs))).unwrap_or(0);
            self.send(
                0,
                self.places.first().map_or(0, |place| place.life),
                Statement::Cancel { run },
            );
        }
        for at in 0..self.places.len() {
            let now = self.now;
            let (restart, pause) = (self.dice.below(4_000), self.dice.below(4 * LEASE));
            let kills = kills && self.dice.one_in(240);
            let pauses = pauses && self.dice.one_in(240);
            let drains = drains && self.dice.one_in(240);
            let Some(place) = self.places.get_mut(at) else { continue };
            if kills && place.server.take().is_some() {
                place.life += 1;
                place.starts_at = now + restart;
            } else if pauses {
                place.paused_until = now + pause;
            } else if drains && let Some(server) = &mut place.server {
                server.drain(now);
            }
        }
    }

    fn start(&mut self) {
        let (now, planted) = (self.now, self.database.planted);
        for place in &mut self.places {
            if place.server.as_ref().is_some_and(SimulatedServer::is_drained) {
                place.server = None;
                place.life += 1;
                place.starts_at = now + 200;
            }
            if place.server.is_none() && place.starts_at <= now {
                place.server = Some(SimulatedServer::new(place.workers, place.lacks, planted));
            }
        }
    }

    fn submit(&mut self) {
        if self.to_submit.is_empty() || !self.dice.one_in(8) {
            return;
        }
        let at = usize::try_from(self.dice.below(self.places.len() as u64)).unwrap_or(0);
        let Some(place) = self.places.get(at) else { return };
        let Some(server) = place.server.as_ref().filter(|_| place.paused_until <= self.now) else {
            return;
        };
        let (claims, life) = (server.claims_submissions(), place.life);
        if let Some(run) = self.to_submit.pop() {
            self.send(at, life, Statement::Submit { run, claims });
        }
    }

    fn act(&mut self) {
        for at in 0..self.places.len() {
            let now = self.now;
            let Some(place) = self.places.get_mut(at) else { continue };
            if place.paused_until > now {
                continue;
            }
            let life = place.life;
            let Some(server) = &mut place.server else { continue };
            for statement in server.act(now, &mut self.dice) {
                self.send(at, life, statement);
            }
        }
    }

    fn send(&mut self, server: usize, life: u64, statement: Statement) {
        let has_trouble = self.now < TROUBLE && self.troubles.losses;
        let (quick, slow) = (self.dice.below(2 * MOMENT), self.dice.below(3 * LEASE));
        let delay = if has_trouble && self.dice.one_in(25) { slow } else { quick };
        let is_lost = has_trouble && self.dice.one_in(30);
        let executed_at = (!is_lost).then_some(self.now + delay);
        let (back, slowly_back) = (self.dice.below(2 * MOMENT), self.dice.below(LEASE));
        let back = if has_trouble && self.dice.one_in(12) { slowly_back } else { back };
        let is_answer_lost = has_trouble && self.dice.one_in(30);
        let patience = if is_lost || is_answer_lost { LEASE / 2 } else { back };
        let repeats = has_trouble && self.troubles.repeats && self.dice.one_in(40);
        if repeats {
            // The same statement is executed once more, and its answer reaches nobody.
            let again = self.now + self.dice.below(2 * LEASE);
            self.flights.push(Flight {
                server,
                life: u64::MAX,
                statement: statement.clone(),
                executed_at: Some(again),
                answered_at: again,
                answer: Err(StatementUnanswered),
            });
        }
        self.flights.push(Flight {
            server,
            life,
            statement,
            executed_at,
            // Who waits for too long gives up, and the statement may be executed later.
            answered_at: self.now + delay.min(LEASE) + patience,
            answer: Err(StatementUnanswered),
        });
        if is_answer_lost && let Some(flight) = self.flights.last_mut() {
            flight.answered_at = self.now + delay.min(LEASE / 2);
        }
    }

    fn deliver(&mut self) {
        let now = self.now;
        let mut late = Vec::new();
        for flight in &mut self.flights {
            if flight.executed_at.is_some_and(|at| at <= now) {
                flight.executed_at = None;
                if !self.is_down {
                    let answer = self.database.execute(flight.server, &flight.statement);
                    flight.answer = Ok(answer);
                }
            }
        }
        let flights = std::mem::take(&mut self.flights);
        for flight in flights {
            let is_paused =
                self.places.get(flight.server).is_some_and(|place| place.paused_until > now);
            if flight.answered_at > now || (is_paused && flight.life != u64::MAX) {
                late.push(flight);
                continue;
            }
            // Executed after its answer was given up.
            if flight.executed_at.is_some() {
                let again = Flight { life: u64::MAX, answered_at: u64::MAX, ..copy(&flight) };
                late.push(again);
            }
            self.hand_over(flight);
        }
        late.retain(|flight| flight.answered_at != u64::MAX || flight.executed_at.is_some());
        late.append(&mut self.flights);
        self.flights = late;
    }

    fn hand_over(&mut self, flight: Flight) {
        let Flight { server: at, life, statement, answer, .. } = flight;
        if let (Statement::Submit { run, .. }, Err(_)) = (&statement, &answer)
            && life != u64::MAX
        {
            // Its client repeats it, at any server.
            self.to_submit.push(*run);
        }
        let now = self.now;
        let Some(place) = self.places.get_mut(at).filter(|place| place.life == life) else {
            return;
        };
        let Some(server) = &mut place.server else { return };
        let (executed, sent) = server.answered(now, &statement, answer, &mut self.dice);
        for run in executed {
            let times = self.executed.entry(run).or_default();
            *times += 1;
            if *times > 1 {
                self.database.broken.get_or_insert(format!("run {run} is executed twice"));
            }
        }
        for statement in sent {
            self.send(at, life, statement);
        }
    }
}

fn copy(flight: &Flight) -> Flight {
    Flight {
        server: flight.server,
        life: flight.life,
        statement: flight.statement.clone(),
        executed_at: flight.executed_at,
        answered_at: flight.answered_at,
        answer: Err(StatementUnanswered),
    }
}
