//! Cells that are interrupted, by their caller or at their time limit.

use std::time::Duration;

use serde_json::{Value, json};
use wardian_formats::job::outcome::RunFailure;
use wardian_formats::job::session::cell::INTERRUPT_GRACE;

use crate::cells::{Ended, Session, session};

/// The end of a cell that its caller has interrupted.
#[derive(Debug, Clone, Copy)]
enum End {
    /// With an exception of this class, or a value if there is none.
    Kept(Option<&'static str>),
    /// In some way, with its state.
    Whole,
    /// It did not end by itself, and its guest is lost.
    Stopped,
}

const INTERRUPT: End = End::Kept(Some("KeyboardInterrupt"));
const CAUGHT: End = End::Kept(None);

/// Programs, how each ends when it is interrupted, and an expression that is true of the state after it.
const PROGRAMS: &[(&str, End, &str)] = &[
    ("while True: pass", INTERRUPT, "kept == [41]"),
    ("n = 0\nwhile True:\n    n += 1", INTERRUPT, "n > 0"),
    ("sum(i * i for i in range(10 ** 12))", INTERRUPT, "kept == [41]"),
    (
        "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(90)",
        INTERRUPT,
        "fib(9) == 34",
    ),
    ("all(map(lambda _: True, iter(int, 1)))", INTERRUPT, "kept == [41]"),
    ("import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')", INTERRUPT, "re.match('a', 'a') is not None"),
    ("import time\ntime.sleep(60)", INTERRUPT, "time.monotonic() > 0"),
    ("import select\nselect.select([], [], [], 60)", INTERRUPT, "kept == [41]"),
    ("import threading\nthreading.Event().wait(60)", INTERRUPT, "kept == [41]"),
    ("import asyncio\nawait asyncio.sleep(60)", INTERRUPT, "await asyncio.sleep(0, True)"),
    (
        "async def spin():\n    while True: pass\nawait spin()",
        INTERRUPT,
        "await asyncio.sleep(0, True)",
    ),
    (
        "ticks = []\nasync def tick():\n    while True:\n        ticks.append(1)\n        \
         await asyncio.sleep(0.001)\nawait tick()",
        INTERRUPT,
        "len(ticks) > 1",
    ),
    (
        "cancelled = []\nasync def work(n):\n    try:\n        await asyncio.sleep(60)\n    \
         except asyncio.CancelledError:\n        cancelled.append(n)\n        raise\n\
         await asyncio.gather(work(1), work(2))",
        INTERRUPT,
        "sorted(cancelled) == [1, 2]",
    ),
    ("asyncio.run(asyncio.sleep(60))", INTERRUPT, "await asyncio.sleep(0, True)"),
    (
        "done = []\ndef f():\n    try:\n        while True: pass\n    finally:\n        done.append(1)\nf()",
        INTERRUPT,
        "done == [1]",
    ),
    ("lock = threading.Lock()\nwith lock:\n    while True: pass", INTERRUPT, "not lock.locked()"),
    (
        "def count():\n    n = 0\n    while True:\n        n += 1\n        yield n\n\
         numbers = count()\nwhile next(numbers): seen = next(numbers)",
        INTERRUPT,
        "next(numbers, seen + 1) > seen",
    ),
    (
        "import numpy as np\nrounds = 0\nwhile True:\n    np.sort(np.random.rand(1000))\n    rounds += 1",
        INTERRUPT,
        "rounds > 0 and np.arange(3).sum() == 3",
    ),
    (
        "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 1], 'b': 1})\n\
         while True: df.groupby('a').sum()",
        INTERRUPT,
        "df.groupby('a').sum()['b'].tolist() == [2, 1]",
    ),
    (
        "import sqlite3\ndb = sqlite3.connect(':memory:')\ndb.execute('create table t (a)')\n\
         while True: db.execute('insert into t values (1)')",
        INTERRUPT,
        "db.execute('select count(*) from t').fetchone()[0] > 0",
    ),
    (
        "import json\nwhile True: json.loads(json.dumps([1] * 50))",
        INTERRUPT,
        "json.loads('1') == 1",
    ),
    (
        "file = open('log.txt', 'w')\nwhile True:\n    file.write('x')\n    file.flush()",
        INTERRUPT,
        "file.close() or len(open('log.txt').read()) > 0",
    ),
    ("while True: print('x')", INTERRUPT, "kept == [41]"),
    (
        "try:\n    while True: pass\nexcept KeyboardInterrupt:\n    caught = 7\ncaught",
        CAUGHT,
        "caught == 7",
    ),
    (
        "try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    time.sleep(0.1)\n    slept = True",
        CAUGHT,
        "slept",
    ),
    (
        "try:\n    while True: pass\nexcept KeyboardInterrupt:\n    raise ValueError('stopped') from None",
        End::Kept(Some("ValueError")),
        "kept == [41]",
    ),
    (
        "import sys\ntry:\n    while True: pass\nexcept KeyboardInterrupt:\n    sys.exit()",
        CAUGHT,
        "kept == [41]",
    ),
    (
        "tries = 0\nwhile tries < 2:\n    try:\n        while True: pass\n    \
         except BaseException:\n        tries += 1",
        CAUGHT,
        "tries == 2",
    ),
    (
        "class Slow:\n    def __del__(self):\n        until = time.monotonic() + 0.2\n        \
         while time.monotonic() < until: pass\nSlow()\nwhile True: pass",
        INTERRUPT,
        "kept == [41]",
    ),
    (
        "import signal\nhits = []\nbefore = signal.signal(signal.SIGINT, lambda *_: hits.append(1))\n\
         while not hits: pass",
        CAUGHT,
        "hits == [1] and callable(signal.signal(signal.SIGINT, before))",
    ),
    (
        "thread = threading.Thread(target=time.sleep, args=(60,))\nthread.start()\nthread.join()",
        End::Whole,
        "kept == [41]",
    ),
    (
        "while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt:\n        pass",
        End::Stopped,
        "",
    ),
    ("import itertools\nsum(itertools.repeat(1))", End::Stopped, ""),
    (
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
        End::Stopped,
        "",
    ),
];

const SOON: Duration = Duration::from_millis(30);

fn error_type(ended: &Ended) -> Option<&str> {
    ended.outcome.end.as_ref().err().map(RunFailure::error_type)
}

/// Interrupts a program, and compares the state that its result claims with what the next cell finds.
fn interrupt(session: &mut Session<'_>, source: &str, end: End, state: &str) {
    session.value("kept = [41]");
    let ended = session.interrupted(source, SOON);
    let found = (error_type(&ended), ended.can_go_on);
    match end {
        End::Kept(class) => assert_eq!(found, (class, true), "{source}: {:?}", ended.outcome),
        End::Whole => assert!(ended.can_go_on, "{source}: {:?}", ended.outcome.end),
        End::Stopped => assert_eq!(found, (Some("KeyboardInterrupt"), false), "{source}"),
    }
    assert!(ended.cell().interrupted, "{source}");
    let took = ended.outcome.usage.wall_time;
    assert_eq!(matches!(end, End::Stopped), took >= SOON + INTERRUPT_GRACE, "{source}: {took:?}");
    assert!(took < SOON + INTERRUPT_GRACE * 2, "{source}: {took:?}");
    if ended.can_go_on {
        assert_eq!(session.value(&format!("kept == [41] and ({state})")), json!(true), "{source}");
        assert_eq!(session.value("sum(range(10))"), json!(45), "{source}");
    }
}

#[test]
fn an_interrupted_cell_leaves_the_state_that_its_result_claims() {
    assert!(PROGRAMS.len() >= 30);
    let (kept, stopped): (Vec<_>, Vec<_>) =
        PROGRAMS.iter().partition(|(_, end, _)| !matches!(end, End::Stopped));
    session(|session| {
        for (source, end, state) in kept {
            interrupt(session, source, end, state);
        }
    });
    for (source, end, state) in stopped {
        session(|session| interrupt(session, source, end, state));
    }
}

#[test]
fn an_interruption_reaches_code_in_python_within_a_tenth_of_a_second() {
    session(|session| {
        for source in ["while True: pass", "import time\ntime.sleep(60)"] {
            let ended = session.interrupted(source, SOON);
            let took = ended.outcome.usage.wall_time;
            assert!(took < SOON + Duration::from_millis(100), "{source}: {took:?}");
        }
    });
}

#[test]
fn a_traceback_shows_where_a_cell_was_interrupted() {
    session(|session| {
        let ended = session.interrupted("def wait():\n    while True: pass\nwait()", SOON);
        let failure = ended.outcome.end.unwrap_err();
        let traceback = failure.traceback().unwrap();
        assert!(traceback.contains("File \"<cell 1>\", line 2, in wait"), "{traceback}");
        assert!(!traceback.contains("wardian"), "{traceback}");
        let ended = session.interrupted("import time\ntime.sleep(60)", SOON);
        let failure = ended.outcome.end.unwrap_err();
        let traceback = failure.traceback().unwrap();
        assert!(traceback.contains("File \"<cell 2>\", line 2, in <module>"), "{traceback}");
        assert!(!traceback.contains("wardian"), "{traceback}");
    });
}

#[test]
fn a_cell_at_its_time_limit_is_interrupted_and_keeps_its_state() {
    session(|session| {
        let limit = Duration::from_millis(100);
        for source in ["n = 7\nwhile True: pass", "import time\nn = 7\ntime.sleep(60)"] {
            session.value("n = 0");
            let ended = session.limited(source, limit);
            assert!(ended.can_go_on && ended.cell().interrupted, "{source}");
            let Err(RunFailure::Timeout { limit: told, traceback: Some(traceback) }) =
                ended.outcome.end
            else {
                panic!("{source}: {:?}", ended.outcome.end);
            };
            assert!(told == limit && traceback.contains("<cell "), "{traceback}");
            assert!(ended.outcome.usage.wall_time < limit + INTERRUPT_GRACE, "{source}");
            assert_eq!(session.value("n"), json!(7), "{source}");
        }
        let source = "try:\n    while True: pass\nexcept KeyboardInterrupt:\n    n = 8\nn";
        let ended = session.limited(source, limit);
        assert_eq!((ended.outcome.end, ended.value), (Ok(()), json!(8)));
        let ended = session.limited("n = 9", Duration::from_secs(60));
        assert!(ended.value == Value::Null && !ended.cell().interrupted);
        assert_eq!(session.value("n"), json!(9));
    });
    session(|session| {
        let limit = Duration::from_millis(100);
        let source =
            "while True:\n    try:\n        while True: pass\n    except BaseException: pass";
        let ended = session.limited(source, limit);
        assert_eq!((error_type(&ended), ended.can_go_on), (Some("Timeout"), false));
        let took = ended.outcome.usage.wall_time;
        let latest = limit + INTERRUPT_GRACE + Duration::from_millis(300);
        assert!((limit + INTERRUPT_GRACE..latest).contains(&took), "{took:?}");
    });
}

/// An interruption that comes when a cell ends is that of this cell or of none.
#[test]
fn an_interruption_at_the_end_of_a_cell_does_not_reach_the_next_one() {
    session(|session| {
        session.value("import time\nseen = []");
        for round in 0..24_u32 {
            // The watchdog looks after 50 ms.
            let milliseconds = 44 + round / 2;
            let source = format!(
                "until = time.monotonic() + 0.0{milliseconds}\n\
                 while time.monotonic() < until: pass\nseen.append({round})"
            );
            let ended = session.interrupted(&source, Duration::ZERO);
            assert!(ended.can_go_on, "{:?}", ended.outcome.end);
            if ended.outcome.end.is_ok() {
                assert_eq!(session.value(&format!("{round} in seen")), json!(true));
            }
            assert_eq!(session.cell("time.sleep(0.002)").outcome.end, Ok(()), "{round}");
        }
    });
}
