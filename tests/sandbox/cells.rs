//! Cells of a session: turns of one guest whose programs share a `__main__`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wardian_formats::job::host::{Host, IsCancelled, IsInterrupted};
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::Refusal;
use wardian_formats::job::outcome::{LogChunk, RunFailure, RunOutcome};
use wardian_formats::job::session::cell::{
    CellOrder, CellOutcome, DisplayBundle, DisplayContent, MAX_BUNDLES, MAX_INLINE,
};
use wardian_formats::job::{KeepBounds, KeepFiles};
use wardian_sandbox::{OpenGuest, Sandbox, Stopwatch};
use wardian_vocabulary::ids::{BlobId, Digest};
use wardian_vocabulary::units::ByteCount;

use crate::{SANDBOX, order, run};

/// The blobs that cells have stored, with their kinds.
type Stored = Arc<Mutex<BTreeMap<BlobId, (String, Vec<u8>)>>>;

/// Keeps the blobs of all cells.
struct Keeping {
    stored: Stored,
    /// When the caller interrupts.
    interrupt_at: Option<Instant>,
}

impl Host for Keeping {
    fn write_blob(&mut self, kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        let id = BlobId::of_digest(&Digest::of(content));
        self.stored.lock().unwrap().insert(id.clone(), (kind.to_owned(), content.to_vec()));
        Ok(id)
    }

    fn is_cancelled(&self) -> IsCancelled {
        Box::new(|| false)
    }

    fn is_interrupted(&self) -> IsInterrupted {
        let at = self.interrupt_at;
        Box::new(move || at.is_some_and(|at| Instant::now() >= at))
    }
}

/// A guest that is kept, and the number of its last cell.
pub(crate) struct Session<'sandbox> {
    sandbox: &'sandbox Sandbox,
    guest: OpenGuest,
    number: u32,
    keep_files: KeepFiles,
    stored: Stored,
}

/// The end of a cell.
pub(crate) struct Ended {
    pub(crate) outcome: RunOutcome,
    pub(crate) value: Value,
    /// True if the session can have another cell.
    pub(crate) can_go_on: bool,
}

impl Session<'_> {
    pub(crate) fn cell(&mut self, source: &str) -> Ended {
        self.ordered(source, false)
    }

    fn ordered(&mut self, source: &str, reseed: bool) -> Ended {
        let ended = self.perform(source, reseed, (RunLimits::DEFAULT, None));
        assert!(ended.can_go_on, "{source}: {:?}", ended.outcome.end);
        ended
    }

    /// A cell that its caller interrupts after this time.
    pub(crate) fn interrupted(&mut self, source: &str, after: Duration) -> Ended {
        let at = Instant::now() + after;
        self.perform(source, false, (RunLimits::DEFAULT, Some(at)))
    }

    /// A cell that may take this long.
    pub(crate) fn limited(&mut self, source: &str, wall_time: Duration) -> Ended {
        let limits = RunLimits { wall_time, ..RunLimits::DEFAULT };
        self.perform(source, false, (limits, None))
    }

    fn perform(
        &mut self,
        source: &str,
        reseed: bool,
        (limits, interrupt_at): (RunLimits, Option<Instant>),
    ) -> Ended {
        self.number += 1;
        let host = Keeping { stored: Arc::clone(&self.stored), interrupt_at };
        self.turn(source, CellOrder::new(self.number, reseed), limits, Box::new(host))
    }

    /// A turn with this order and this host.
    pub(crate) fn turn(
        &mut self,
        source: &str,
        cell: CellOrder,
        limits: RunLimits,
        host: Box<dyn Host>,
    ) -> Ended {
        let (_, mut turn) = order(source, limits);
        turn.entrypoint = None;
        turn.keep_files = self.keep_files.clone();
        turn.cell = Some(cell);
        let end = self.sandbox.turn(&mut self.guest, &turn, host, Stopwatch::start()).unwrap();
        let value = match end.output.as_slice() {
            [] => Value::Null,
            output => serde_json::from_slice(output).unwrap(),
        };
        Ended { outcome: end.outcome, value, can_go_on: end.can_go_on }
    }

    /// The value of a cell that must not fail.
    pub(crate) fn value(&mut self, source: &str) -> Value {
        let ended = self.cell(source);
        assert_eq!(ended.outcome.end, Ok(()), "{source}");
        ended.value
    }

    /// The class, the message and the traceback of a cell that must fail.
    #[expect(clippy::panic, reason = "a test may panic; that is how it fails")]
    fn failure(&mut self, source: &str) -> (String, String, String) {
        match self.cell(source).outcome.end {
            Err(RunFailure::Exception { class, message, traceback }) => {
                (class, message, traceback.unwrap_or_default())
            }
            other => panic!("{source} ended so: {other:?}"),
        }
    }
}

impl Ended {
    pub(crate) fn cell(&self) -> &CellOutcome {
        self.outcome.cell.as_deref().unwrap()
    }

    fn printed(&self) -> String {
        self.outcome.logs.chunks.iter().map(|LogChunk { text, .. }| text.as_str()).collect()
    }
}

/// The kinds of a bundle's forms.
fn kinds(bundle: &DisplayBundle) -> Vec<&str> {
    bundle.parts.iter().map(|part| part.kind.as_str()).collect()
}

/// Plays cells in a new guest, which is closed and compared with its image afterwards.
pub(crate) fn session(play: impl FnOnce(&mut Session<'_>) + Send) {
    std::thread::scope(|scope| {
        let guest = std::thread::Builder::new().stack_size(wardian_worker::GUEST_STACK);
        let running = guest.spawn_scoped(scope, || {
            let mut sandbox = SANDBOX.lock().unwrap();
            let guest = sandbox.open(order("", RunLimits::DEFAULT).0.into()).unwrap();
            let mut session = Session {
                sandbox: &sandbox,
                guest,
                number: 0,
                keep_files: KeepFiles::Nothing,
                stored: Stored::default(),
            };
            play(&mut session);
            let Session { guest, .. } = session;
            sandbox.close(guest).unwrap();
        });
        running.unwrap().join().unwrap();
    });
}

#[test]
fn the_state_of_a_cell_is_there_in_the_next_one() {
    session(|session| {
        session.value(
            "import math\nx = [1]\ndef double(n):\n    return 2 * n\nopen('f', 'w').write('a')",
        );
        session.value("x.append(double(4))");
        assert_eq!(
            session.value("[x, open('f').read(), __name__]"),
            json!([[1, 8], "a", "__main__"])
        );
        assert_eq!(session.value("_[0], len(In)"), json!([[1, 8], 5]));
        session.value("def main(args):\n    x.append('called')");
        assert_eq!(session.value("x"), json!([1, 8]), "`main` is not called");
        // Kinds of state that are easily lost.
        session.value(
            "import sqlite3, hashlib, contextvars\n\
             db = sqlite3.connect(':memory:'); db.execute('create table t (a)')\n\
             half = hashlib.sha256(b'a')\n\
             def count():\n    yield from range(9)\n\
             numbers = count(); next(numbers)\n\
             v = contextvars.ContextVar('v'); v.set(3)",
        );
        let source = "db.execute('insert into t values (5)'); half.update(b'b')\n\
                      [next(numbers), v.get(), db.execute('select * from t').fetchall(),\n \
                      half.hexdigest() == hashlib.sha256(b'ab').hexdigest()]";
        assert_eq!(session.value(source), json!([1, 3, [[5]], true]));
    });
}

#[test]
fn an_exception_ends_its_cell_and_keeps_the_state() {
    session(|session| {
        session.value("def divide(a, b):\n    return a / b  # in cell 1");
        let (class, _, traceback) = session.failure("x = 5\ny = divide(x, 0)  # in cell 2\nz = 1");
        assert_eq!(class, "ZeroDivisionError");
        for line in [
            "File \"<cell 2>\", line 2, in <module>\n    y = divide(x, 0)  # in cell 2",
            "File \"<cell 1>\", line 2, in divide\n    return a / b  # in cell 1",
        ] {
            assert!(traceback.contains(line), "{traceback}");
        }
        assert!(!traceback.contains("wardian"), "{traceback}");
        assert_eq!(session.value("x, 'z' in globals()"), json!([5, false]));
        let (class, _, traceback) = session.failure("x = 1\nx +* 2");
        assert_eq!(class, "SyntaxError");
        assert!(traceback.contains("File \"<cell 4>\", line 2\n    x +* 2"), "{traceback}");
        assert_eq!(session.value("import sys\ntype(sys.last_exc).__name__"), json!("SyntaxError"));
        assert_eq!(session.value("x = 6\nsys.exit()\nx = 7"), Value::Null);
        assert_eq!(session.failure("sys.exit(3)").0, "SystemExit");
        let deep = "def deep(n):\n    return deep(n + 1)\ndeep(0)";
        assert_eq!(session.failure(deep).0, "RecursionError");
        assert_eq!(session.value("x"), json!(6));
    });
}

#[test]
fn a_cell_that_fills_the_memory_leaves_a_session() {
    session(|session| {
        session.value("kept = 'kept'");
        for _ in 0..2 {
            let source = "big = []\nwhile True:\n    big.append(bytearray(1 << 24))";
            let end = session.cell(source).outcome.end;
            assert!(matches!(end, Err(RunFailure::MemoryLimit { .. })), "{end:?}");
            assert_eq!(session.value("del big\nkept"), json!("kept"));
        }
    });
}

#[test]
fn a_cell_awaits_and_its_tasks_go_on_in_the_next() {
    session(|session| {
        session.value(
            "import asyncio\nseen = []\n\
             async def work():\n    for n in range(3):\n        seen.append(n)\n        \
             await asyncio.sleep(0.005)\n    return 'worked'\n\
             task = asyncio.create_task(work())",
        );
        assert_eq!(session.value("seen, task.done()"), json!([[0], false]));
        assert_eq!(session.value("await task"), json!("worked"));
        assert_eq!(session.value("seen"), json!([0, 1, 2]));
        assert_eq!(session.value("asyncio.run(work())"), json!("worked"));
        let source = "async with asyncio.timeout(1):\n    y = await asyncio.sleep(0, 4)\ny";
        assert_eq!(session.value(source), json!(4));
        assert_eq!(session.failure("await asyncio.sleep(0)\n1 / 0").0, "ZeroDivisionError");
        let waiting = session.failure("await asyncio.get_running_loop().create_future()").1;
        assert!(waiting.contains("waits for ever"), "{waiting}");
        assert_eq!(session.value("await asyncio.sleep(0, 'on')"), json!("on"));
    });
}

#[test]
fn what_a_cell_displays_is_in_its_outcome() {
    session(|session| {
        assert_eq!(*session.cell("1").cell(), CellOutcome::default());
        let ended = session.cell(
            "from IPython.display import HTML, Image, JSON\n\
             display('text', HTML('<b>'), JSON({'a': 1}))\n\
             display(Image(b'\\x89PNG\\r\\n\\x1a\\n and more'))",
        );
        let display = &ended.cell().display;
        let expected: [&[&str]; 4] = [
            &["text/plain"],
            &["text/plain", "text/html"],
            &["text/plain", "application/json"],
            &["text/plain", "image/png"],
        ];
        assert_eq!(display.iter().map(kinds).collect::<Vec<_>>(), expected);
        assert_eq!(display[0].parts[0].content, DisplayContent::Text("'text'".to_owned()));
        let DisplayContent::Blob(id) = &display[3].parts[1].content else {
            panic!("a picture is a blob: {:?}", display[3]);
        };
        let (kind, content) = session.stored.lock().unwrap()[id].clone();
        assert_eq!((kind.as_str(), content.len()), ("image/png", 17));
        let free = "import os\nos.listdir('/blobs') if os.path.exists('/blobs') else []";
        assert_eq!(session.value(free), json!([]), "what is displayed takes no room in the guest");

        let table = session.cell("import pandas as pd\npd.DataFrame({'a': [1, 2]})");
        assert_eq!(table.value, json!([{"a": 1}, {"a": 2}]));
        assert_eq!(kinds(&table.cell().display[0]), ["text/plain", "text/html"]);
        assert_eq!(table.printed(), "");

        let long = format!("display(HTML('x' * {}))", MAX_INLINE + 1);
        let ended = session.cell(&long);
        assert!(matches!(ended.cell().display[0].parts[1].content, DisplayContent::Blob(_)));
        let many = session.cell(&format!("for n in range({}): display(n)", MAX_BUNDLES + 9));
        assert_eq!(many.cell().display.len(), MAX_BUNDLES);
        assert!(many.cell().is_bounded() && many.printed().contains("left out"));
        let failed = session.cell("display('before')\n1 / 0");
        assert_eq!(failed.cell().display.len(), 1, "a cell that fails has displayed what it did");
        let replaced = session.cell("h = display(1, display_id=True)\nh.update(2)");
        let text = DisplayContent::Text("2".to_owned());
        assert_eq!(replaced.cell().display[0].parts[0].content, text);
    });
}

#[test]
fn open_figures_are_displayed_and_closed() {
    session(|session| {
        let ended = session
            .cell("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 3, 2]);");
        assert_eq!(ended.outcome.end, Ok(()));
        let display = &ended.cell().display;
        assert_eq!(display.len(), 1, "{display:?}");
        assert_eq!(kinds(&display[0]), ["text/plain", "image/png"]);
        let stored = Arc::clone(&session.stored);
        let pictures = || stored.lock().unwrap().values().cloned().collect::<Vec<_>>();
        assert!(pictures()[0].1.starts_with(b"\x89PNG"));
        assert_eq!(session.value("plt.get_fignums()"), json!([]));
        assert_eq!(session.value("import os\nos.listdir()"), json!([".matplotlib"]));
        let shown = session.cell("fig, ax = plt.subplots()\nax.bar([1], [2])\nplt.show()\nfig");
        assert_eq!(shown.cell().display.len(), 1, "shown once: {:?}", shown.cell());
        let failed = session.cell("plt.plot([1])\n1 / 0");
        assert_eq!(failed.cell().display.len(), 1);
        assert_eq!(session.cell("plt.figure()").cell().display.len(), 1);
    });
}

#[test]
fn magics_work_or_say_what_to_write() {
    session(|session| {
        let timed = session.cell("%%time\nsum(range(1000))");
        assert_eq!(timed.value, json!(499_500));
        assert!(timed.printed().contains("Wall time: "), "{}", timed.printed());
        assert_eq!(session.value("x = 4\n%time x + 1"), json!(5));
        let repeated = session.cell("%timeit -n 10 -r 3 x");
        let printed = repeated.printed();
        assert!(
            printed.contains("per loop (mean ± std. dev. of 3 runs, 10 loops each)"),
            "{printed}"
        );
        for (source, words) in [
            ("!ls", "os.listdir"),
            ("%pip install torch", "nothing can be installed"),
            ("%%bash\nls", "no shell"),
            ("%cd /tmp", "os.chdir"),
            ("%nonsense", "there is no magic `%nonsense`"),
        ] {
            let (class, message, _) = session.failure(source);
            assert_eq!(class, "UsageError", "{source}");
            assert!(message.contains(words), "{source}: {message}");
        }
        let text = "text = '''\n%pip install x\n!ls\n'''\ny = (9\n%5)\n%time 0\nlen(text), y";
        assert_eq!(session.value(text), json!([20, 4]), "within texts and brackets there are none");
        let traceback = session.failure("y = 0\n\n%time 1 / y").2;
        assert!(traceback.contains("line 3, in <module>\n    %time 1 / y\n"), "{traceback}");
    });
}

#[test]
fn a_state_that_is_reseeded_draws_other_numbers_and_says_so() {
    session(|session| {
        session.value(
            "import os, random, tempfile, numpy as np\nran = []\n\
             os.register_at_fork(after_in_child=lambda: ran.append(1))\n\
             random.gauss(0, 1)\npid = os.getpid()\nnames = tempfile._get_candidate_names()",
        );
        let state = "import hashlib\n[hashlib.sha256(repr((random.getstate(), np.random.get_state()))\
                     .encode()).hexdigest(), ran, names is tempfile._get_candidate_names(),\
                     os.getpid() == pid]";
        let before = session.ordered(state, false);
        let again = session.ordered(state, false);
        assert_eq!(before.value, again.value, "nothing changes by itself");
        assert!(!again.cell().reseeded);
        let after = session.ordered(state, true);
        assert!(after.cell().reseeded);
        assert_ne!(after.value[0], before.value[0]);
        assert_eq!(after.value.as_array().unwrap()[1..], [json!([1]), json!(false), json!(false)]);
        let other = session.ordered(state, true);
        assert_ne!(other.value[0], after.value[0]);
        assert_eq!(session.value("random.random() != np.random.random()"), json!(true));
    });
}

#[test]
fn a_cell_keeps_the_files_that_it_has_made_or_changed() {
    session(|session| {
        session.keep_files = KeepFiles::Usual(KeepBounds {
            count: 9,
            max_size: ByteCount::mebibytes(1),
            total_size: ByteCount::mebibytes(1),
        });
        let files = |ended: &Ended| {
            let listed = ended.outcome.files.listed.iter();
            listed.map(|file| (file.path.clone(), file.kept.is_some())).collect::<Vec<_>>()
        };
        let kept = |names: &[&str]| {
            names.iter().map(|name| ((*name).to_owned(), true)).collect::<Vec<_>>()
        };
        let first = session.cell("open('a', 'w').write('1')\nf = open('b', 'w')\nf.write('2')");
        assert_eq!(files(&first), kept(&["a", "b"]));
        let second = session.cell("open('c', 'w').write('3')");
        assert_eq!(files(&second), kept(&["c"]));
        assert_eq!(second.outcome.files.total, 1);
        let third = session.cell("f.write('4')\nimport os\nos.rename('a', 'd')");
        assert_eq!(files(&third), kept(&["b", "d"]));
        assert_eq!(files(&session.cell("open('c').read()")), Vec::new());
        session.keep_files = KeepFiles::Matching(vec!["c".to_owned()]);
        let wished = session.cell("1").outcome.files.listed;
        let names = wished.iter().filter(|file| file.kept.is_some()).map(|file| file.path.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["c"], "patterns are for all files");
    });
}

#[test]
fn a_run_is_not_changed_by_what_cells_need() {
    let source = "import sys\ndef main(args):\n    \
                  import IPython";
    let (outcome, _) = run(source, RunLimits::DEFAULT);
    let Err(RunFailure::Exception { class, message, .. }) = outcome.end else {
        panic!("IPython is there: {:?}", outcome.end);
    };
    assert_eq!(class, "ModuleNotFoundError");
    assert!(message.contains("print the values"), "{message}");
    assert_eq!(outcome.cell, None);
    let source = "import asyncio, os, sys\ndef main(args):\n    \
                  names = [n for n in ('display', 'get_ipython', 'In', '_') if n in globals()]\n    \
                  return [names, asyncio.create_task.__module__, hasattr(sys, 'last_exc'),\n            \
                  hasattr(__builtins__, 'display'), [n for n in sys.modules if 'IPython' in n]]";
    let (_, output) = run(source, RunLimits::DEFAULT);
    let found: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(found, json!([[], "asyncio.tasks", false, false, []]));
}
