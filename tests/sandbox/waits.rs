//! Cells that wait for their caller: with an empty native stack, and in the middle of a call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use wardian_formats::job::Turn;
use wardian_formats::job::host::{Host, IsCancelled};
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::Refusal;
use wardian_formats::job::outcome::{LogChunk, RunFailure, RunOutcome};
use wardian_formats::job::session::asking::{CallerRequest, JsonText};
use wardian_formats::job::session::cell::CellOrder;
use wardian_vocabulary::ids::BlobId;

use crate::cells::{Ended, Session, session};
use crate::{Forgetful, order};

/// Holds a guest for as long as there are turns for it.
struct Holding {
    turns: VecDeque<Turn>,
    outcomes: Arc<Mutex<Vec<RunOutcome>>>,
    /// How long each wait takes.
    wait: Duration,
}

impl Host for Holding {
    fn write_blob(&mut self, kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        Forgetful.write_blob(kind, content)
    }

    fn can_hold(&self) -> bool {
        true
    }

    fn hold(&mut self, outcome: RunOutcome) -> Option<Box<Turn>> {
        self.outcomes.lock().unwrap().push(outcome);
        thread::park_timeout(self.wait);
        self.turns.pop_front().map(Box::new)
    }

    fn is_cancelled(&self) -> IsCancelled {
        Box::new(|| false)
    }
}

fn text(value: &Value) -> JsonText {
    JsonText::new(to_raw_value(value).unwrap())
}

/// A cell that may call the tool `f`.
fn beginning(number: u32) -> CellOrder {
    let tools = Some(text(&json!([{"name": "f"}])));
    CellOrder { tools, ..CellOrder::new(number, false) }
}

/// A cell that goes on with these outputs, whose requests have these numbers.
fn going_on(number: u32, answers: &[(u32, Value)]) -> CellOrder {
    let answers: Vec<Value> = answers
        .iter()
        .map(|(number, output)| json!({"number": number, "output": output}))
        .collect();
    CellOrder { answers: Some(text(&json!(answers))), ..CellOrder::new(number, false) }
}

fn requests(outcome: &RunOutcome) -> &[CallerRequest] {
    &outcome.cell.as_ref().unwrap().requests.all
}

fn printed(outcome: &RunOutcome) -> String {
    outcome.logs.chunks.iter().map(|LogChunk { text, .. }| text.as_str()).collect()
}

/// The end of a cell, and the outcomes of its parts before.
fn held(
    session: &mut Session<'_>,
    source: &str,
    answers: &[(u32, Value)],
    (limits, wait): (RunLimits, Duration),
) -> (Ended, Vec<RunOutcome>) {
    let outcomes = Arc::default();
    let turn = |(asked, output): &(u32, Value)| Turn {
        cell: Some(going_on(1, &[(*asked, output.clone())])),
        ..order("", limits).1
    };
    let turns = answers.iter().map(turn).collect();
    let host = Holding { turns, outcomes: Arc::clone(&outcomes), wait };
    let ended = session.turn(source, beginning(1), limits, Box::new(host));
    let parts = std::mem::take(&mut *outcomes.lock().unwrap());
    (ended, parts)
}

#[test]
fn a_cell_that_awaits_ends_its_turn_and_goes_on_with_the_next() {
    session(|session| {
        let source = "print('before')\nrows = await tools.f(n=1)\nprint('after')\nlen(rows)";
        let waits = session.turn(source, beginning(1), RunLimits::DEFAULT, Box::new(Forgetful));
        assert_eq!((waits.outcome.end.clone(), waits.can_go_on), (Ok(()), true));
        let tool = requests(&waits.outcome)[0].tool.as_ref().unwrap();
        assert_eq!((tool.name.as_str(), tool.arguments.as_str()), ("f", r#"{"n":1}"#));
        assert_eq!((printed(&waits.outcome).as_str(), waits.cell().is_held), ("before\n", false));
        let order = going_on(1, &[(1, json!([7, 8]))]);
        let done = session.turn("", order, RunLimits::DEFAULT, Box::new(Forgetful));
        assert_eq!((done.value, printed(&done.outcome).as_str()), (json!(2), "after\n"));
        assert!(done.outcome.cell.unwrap().requests.is_empty());
    });
}

#[test]
fn a_cell_is_held_in_the_middle_of_a_call() {
    session(|session| {
        let source = "import time\ndef ask(n):\n    start = time.monotonic()\n    print('ask', n)\n    \
                      line = input('Name? ')\n    return [line, time.monotonic() - start < 1]\n\
                      list(map(ask, (1, 2)))";
        let answers = [(1, json!("Ada")), (2, json!("Bo"))];
        let rules = (RunLimits::DEFAULT, Duration::from_secs(2));
        let (done, parts) = held(session, source, &answers, rules);
        assert_eq!(done.value, json!([["Ada", true], ["Bo", true]]), "the clock stands");
        assert!(done.can_go_on && done.cell().requests.is_empty() && !done.cell().is_held);
        let told: Vec<_> = parts.iter().map(printed).collect();
        assert_eq!(told, ["ask 1\n", "ask 2\n"]);
        for (number, part) in (1..).zip(&parts) {
            let [request] = requests(part) else { panic!("it asks for something else") };
            assert_eq!((request.number, part.cell.as_ref().unwrap().is_held), (number, true));
            assert_eq!(request.input.as_ref().unwrap().prompt, "Name? ");
        }
        assert!(done.outcome.usage.wall_time < Duration::from_secs(1), "waiting is no running");
    });
}

#[test]
fn each_part_has_its_own_time_and_fuel() {
    session(|session| {
        let limits = RunLimits { wall_time: Duration::from_secs(1), ..RunLimits::DEFAULT };
        let source =
            "import time\nfor _ in range(3):\n    time.sleep(0.5)\n    (lambda: input())()\n'done'";
        let answers = [(1, json!("")), (2, json!("")), (3, json!(""))];
        let (done, parts) = held(session, source, &answers, (limits, Duration::from_millis(900)));
        assert_eq!((done.value, parts.len()), (json!("done"), 3));
        let source = "import time\n(lambda: input())()\ntime.sleep(9)";
        let (late, _) =
            held(session, source, &[(4, json!(""))], (limits, Duration::from_millis(900)));
        assert!(
            matches!(late.outcome.end, Err(RunFailure::Timeout { .. })),
            "{:?}",
            late.outcome.end
        );
        assert!(late.can_go_on, "it was interrupted as any other");
    });
}

#[test]
fn a_guest_that_is_closed_while_it_is_held_ends() {
    session(|session| {
        let rules = (RunLimits::DEFAULT, Duration::ZERO);
        let (ended, parts) = held(session, "x = 1\n(lambda: input())()", &[], rules);
        assert_eq!((ended.outcome.end, ended.can_go_on), (Err(RunFailure::Cancelled), false));
        assert_eq!(parts.len(), 1);
    });
}

#[test]
fn a_host_that_cannot_hold_refuses() {
    session(|session| {
        let source = "try:\n    (lambda: input())()\nexcept Exception as error:\n    kind = type(error).__name__\nkind";
        let ended = session.turn(source, beginning(1), RunLimits::DEFAULT, Box::new(Forgetful));
        assert_eq!(ended.value, json!("PolicyDenied"));
    });
}
