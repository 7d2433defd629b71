//! The lease protocol in a model checker: every order of steps of two servers and their database, with messages that are
//! late or lost, servers that die and come back, and leases that end at any time.
//!
//! The servers follow the rules of this crate. The bounds are small, and what is within them is looked at completely.

use std::time::Duration;

use stateright::{Checker as _, Model, Property};

use crate::node::{FleetNode, NodeBounds};
use crate::orders::StatementUnanswered;

/// Servers, runs, epochs of a server, and statements on their way.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    servers: usize,
    runs: u8,
    epochs: u64,
    statements: usize,
}

struct Protocol(Bounds);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Row {
    Waiting,
    Claimed(usize, u64),
    Begun(usize, u64),
    Completed,
    Interrupted,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Asked {
    Claim { epoch: u64, is_unsure: bool },
    Begin { epoch: u64, runs: Vec<u8> },
    End { epoch: u64, run: u8 },
}

/// A statement on its way to the database, or its answer on its way back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Statement {
    server: usize,
    life: u64,
    asked: Asked,
    /// The runs of the answer, once it was executed.
    answer: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    node: FleetNode<u8>,
    is_up: bool,
    /// Counts its lives.
    life: u64,
    epoch: u64,
    /// Runs that it executes, and runs whose ends are to be written.
    running: Vec<u8>,
}

impl Place {
    fn new() -> Self {
        let bounds = NodeBounds {
            most_claimed: 1,
            most_at_once: 1,
            look_every: Duration::ZERO,
            shun: Duration::ZERO,
            check_every: Duration::MAX,
        };
        let node = FleetNode::new(bounds);
        Self { node, is_up: false, life: 0, epoch: 0, running: Vec::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// Of the database: epochs, and whether their leases have not ended.
    servers: Vec<(u64, bool)>,
    rows: Vec<Row>,
    places: Vec<Place>,
    statements: Vec<Statement>,
    executed: Vec<u8>,
    /// The ends that each run has had.
    ended: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    /// A server starts, or joins again.
    Join(usize),
    Die(usize),
    Claim(usize),
    Ready(usize, u8),
    Begin(usize),
    Finish(usize, u8),
    Execute(usize),
    Deliver(usize),
    Lose(usize),
    LeaseEnds(usize),
    /// A server renews its lease, and learns of the end of its epoch.
    Renew(usize),
    /// Somebody ends the epoch of a server whose lease has ended.
    Judge(usize),
}

impl State {
    fn is_present(&self, server: usize, epoch: u64) -> bool {
        self.servers[server].0 == epoch
    }

    fn reap(&mut self) {
        for at in 0..self.rows.len() {
            self.rows[at] = match self.rows[at] {
                Row::Claimed(server, epoch) if !self.is_present(server, epoch) => Row::Waiting,
                Row::Begun(server, epoch) if !self.is_present(server, epoch) => {
                    self.ended[at] += 1;
                    Row::Interrupted
                }
                row => row,
            };
        }
    }

    fn join(&mut self, server: usize) {
        self.servers[server] = (self.servers[server].0 + 1, true);
        self.reap();
        let epoch = self.servers[server].0;
        let place = &mut self.places[server];
        (place.is_up, place.epoch) = (true, epoch);
        let lost = place.node.joined(epoch);
        place.running.retain(|run| !lost.stopped.contains(run));
    }

    fn execute(&mut self, at: usize) {
        let Statement { server, asked, .. } = self.statements[at].clone();
        let answer = match asked {
            Asked::Claim { epoch, is_unsure: true } => {
                let own = |run: &u8| self.rows[usize::from(*run)] == Row::Claimed(server, epoch);
                self.runs().filter(own).collect()
            }
            Asked::Claim { epoch, .. } if self.is_present(server, epoch) => {
                let is_waiting = |run: &u8| self.rows[usize::from(*run)] == Row::Waiting;
                let picked: Vec<u8> = self.runs().find(is_waiting).into_iter().collect();
                for run in &picked {
                    self.rows[usize::from(*run)] = Row::Claimed(server, epoch);
                }
                picked
            }
            Asked::Claim { .. } => Vec::new(),
            Asked::Begin { epoch, runs } => {
                let mut begun = Vec::new();
                for run in runs {
                    let row = usize::from(run);
                    if self.rows[row] == Row::Claimed(server, epoch)
                        && self.is_present(server, epoch)
                    {
                        self.rows[row] = Row::Begun(server, epoch);
                    }
                    if self.rows[row] == Row::Begun(server, epoch) {
                        begun.push(run);
                    }
                }
                begun
            }
            Asked::End { epoch, run } => {
                let row = usize::from(run);
                if self.rows[row] == Row::Begun(server, epoch) && self.is_present(server, epoch) {
                    self.rows[row] = Row::Completed;
                    self.ended[row] += 1;
                }
                Vec::new()
            }
        };
        self.statements[at].answer = Some(answer);
    }

    fn runs(&self) -> impl Iterator<Item = u8> + use<> {
        0..u8::try_from(self.rows.len()).unwrap()
    }

    /// Hands an answer to its server, or says that there is none.
    fn deliver(&mut self, at: usize, is_lost: bool) {
        let Statement { server, life, asked, answer } = self.statements.remove(at);
        let place = &mut self.places[server];
        if !place.is_up || place.life != life {
            return;
        }
        let answer = answer.filter(|_| !is_lost).ok_or(StatementUnanswered);
        match asked {
            Asked::Claim { epoch, is_unsure } => {
                let order =
                    crate::orders::ClaimOrder { epoch, most: 1, except: Vec::new(), is_unsure };
                place.node.claim_answered(&order, answer);
            }
            Asked::Begin { epoch, runs } => {
                let order = crate::orders::BeginOrder { epoch, runs };
                for run in place.node.begin_answered(&order, answer).execute {
                    place.running.push(run);
                    self.executed[usize::from(run)] += 1;
                }
            }
            Asked::End { epoch, run } => match answer {
                Ok(_) => place.node.ended(&run),
                // It is written again.
                Err(StatementUnanswered) => {
                    let asked = Asked::End { epoch, run };
                    self.statements.push(Statement { server, life, asked, answer: None });
                }
            },
        }
    }

    fn send(&mut self, server: usize, asked: Asked) {
        let life = self.places[server].life;
        self.statements.push(Statement { server, life, asked, answer: None });
    }

    fn take(&mut self, step: Step) -> Option<()> {
        match step {
            Step::Join(server) => self.join(server),
            Step::Die(server) => {
                let (life, epoch) = (self.places[server].life + 1, self.places[server].epoch);
                self.places[server] = Place { life, epoch, ..Place::new() };
            }
            Step::Claim(server) => {
                let order = self.places[server].node.next_claim(Duration::ZERO, 1)?;
                let asked = Asked::Claim { epoch: order.epoch, is_unsure: order.is_unsure };
                self.send(server, asked);
            }
            Step::Ready(server, run) => {
                self.places[server].node.ready(&run).then_some(())?;
            }
            Step::Begin(server) => {
                let order = self.places[server].node.next_begin()?;
                self.send(server, Asked::Begin { epoch: order.epoch, runs: order.runs });
            }
            Step::Finish(server, run) => {
                let place = &mut self.places[server];
                let at = place.running.iter().position(|one| *one == run)?;
                place.running.remove(at);
                let epoch = place.epoch;
                self.send(server, Asked::End { epoch, run });
            }
            Step::Execute(at) => self.execute(at),
            Step::Deliver(at) => self.deliver(at, false),
            Step::Lose(at) => self.deliver(at, true),
            Step::LeaseEnds(server) => self.servers[server].1 = false,
            Step::Renew(server) => {
                let epoch = self.places[server].epoch;
                match self.is_present(server, epoch) {
                    true => self.servers[server].1 = true,
                    false => self.join(server),
                }
            }
            Step::Judge(server) => {
                self.servers[server] = (self.servers[server].0 + 1, true);
                self.reap();
            }
        }
        Some(())
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let Bounds { servers, runs, .. } = self.0;
        vec![State {
            servers: vec![(0, false); servers],
            rows: vec![Row::Waiting; usize::from(runs)],
            places: vec![Place::new(); servers],
            statements: Vec::new(),
            executed: vec![0; usize::from(runs)],
            ended: vec![0; usize::from(runs)],
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        let Bounds { servers, runs, epochs, statements } = self.0;
        for server in 0..servers {
            let (epoch, has_lease) = state.servers[server];
            let may_rise = epoch < epochs;
            if !state.places[server].is_up {
                steps.extend(may_rise.then_some(Step::Join(server)));
                // Others judge the dead, too.
                steps.extend((may_rise && !has_lease && epoch > 0).then_some(Step::Judge(server)));
                steps.extend(has_lease.then_some(Step::LeaseEnds(server)));
                continue;
            }
            steps.push(Step::Die(server));
            if state.statements.len() < statements {
                steps.extend([Step::Claim(server), Step::Begin(server)]);
                steps.extend((0..runs).map(|run| Step::Finish(server, run)));
            }
            steps.extend((0..runs).map(|run| Step::Ready(server, run)));
            steps.extend(has_lease.then_some(Step::LeaseEnds(server)));
            if may_rise || state.is_present(server, state.places[server].epoch) {
                steps.push(Step::Renew(server));
            }
            steps.extend((may_rise && !has_lease).then_some(Step::Judge(server)));
        }
        for (at, statement) in state.statements.iter().enumerate() {
            steps.push(match statement.answer {
                None => Step::Execute(at),
                Some(_) => Step::Deliver(at),
            });
            steps.push(Step::Lose(at));
        }
    }

    fn next_state(&self, before: &State, step: Step) -> Option<State> {
        let mut after = before.clone();
        after.take(step)?;
        // Statements have no order.
        after.statements.sort_by_key(|statement| format!("{statement:?}"));
        (after != *before).then_some(after)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no run is executed twice", |_, state: &State| {
                state.executed.iter().all(|times| *times <= 1)
            }),
            Property::always("a run has one end", |_, state: &State| {
                let ends = state.rows.iter().zip(&state.ended);
                ends.into_iter().all(|(row, times)| {
                    *times == u8::from(matches!(row, Row::Completed | Row::Interrupted))
                })
            }),
            Property::always("what completed was executed", |_, state: &State| {
                let ends = state.rows.iter().zip(&state.executed);
                ends.into_iter().all(|(row, times)| *row != Row::Completed || *times == 1)
            }),
            Property::sometimes("a run completes", |_, state: &State| {
                state.rows.contains(&Row::Completed)
            }),
            Property::sometimes("a run is interrupted", |_, state: &State| {
                state.rows.contains(&Row::Interrupted)
            }),
            Property::sometimes(
                "a run completes after the death of a server",
                |_, state: &State| {
                    let has_died = state.places.iter().any(|place| place.life > 0);
                    has_died && state.rows.contains(&Row::Completed)
                },
            ),
        ]
    }
}

fn states(bounds: Bounds) -> usize {
    let checker = Protocol(bounds).checker().spawn_bfs().join();
    checker.assert_properties();
    checker.unique_state_count()
}

#[test]
fn every_order_of_steps_executes_a_run_at_most_once() {
    let one_run = Bounds { servers: 2, runs: 1, epochs: 2, statements: 2 };
    let count = states(one_run);
    assert!(count > 50_000, "{count} states");
}
