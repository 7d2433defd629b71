//! Kinds of state that Python programs keep from one turn to the next.

use std::sync::Arc;

use crate::workshop::{Parked, difference, setup, turn, with_sandboxes};
use wardian_formats::job::session::checkpoint::MOST_IN_CHAIN;

/// Turns of one guest: statements, and an expression whose text is the answer.
const TURNS: &[(&str, &str)] = &[
    ("x = 1", "x"),
    ("x += 1", "x"),
    ("numbers = (n * n for n in range(100)); next(numbers)", "next(numbers)"),
    ("", "next(numbers), next(numbers)"),
    (
        "def talk():\n    got = yield 'begun'\n    while True: got = yield got * 2\nspeaker = talk()",
        "next(speaker)",
    ),
    ("", "speaker.send(21)"),
    (
        "import itertools; counter = itertools.count(5); one, two = itertools.tee('abc'); next(one)",
        "next(counter)",
    ),
    ("", "next(counter), list(one), list(two)"),
    (
        "import random; random.seed(3); own = random.Random(4)",
        "random.random(), random.gauss(0, 1)",
    ),
    ("", "own.random(), own.gauss(0, 1)"),
    ("import numpy as np; generator = np.random.default_rng(5)", "float(generator.normal())"),
    ("", "float(generator.normal()), generator.integers(9, size=3).tolist()"),
    ("grid = np.arange(12.).reshape(3, 4); view = grid[1:]", "(grid @ grid.T).tolist()"),
    ("view[:] = 0", "grid.sum()"),
    (
        "import pandas as pd; frame = pd.DataFrame({'a': range(50), 'b': list('xy') * 25})",
        "int(frame.a.sum())",
    ),
    ("frame['c'] = frame.a.rolling(3).mean()", "frame.groupby('b').c.mean().to_dict()"),
    ("groups = frame.groupby('b'); pieces = iter(groups)", "next(pieces)[0]"),
    ("", "next(pieces)[1].a.tolist()[:3]"),
    (
        "import asyncio; loop = asyncio.new_event_loop(); queue = asyncio.Queue()\nasync def work():\n    while True: done.append(await queue.get())\ndone = []; task = loop.create_task(work()); loop.run_until_complete(asyncio.sleep(0))",
        "task.done()",
    ),
    (
        "loop.run_until_complete(queue.put(7)); loop.run_until_complete(asyncio.sleep(0))",
        "done, task.done()",
    ),
    (
        "async def later():\n    await asyncio.sleep(0)\n    return 'later'\nwaiting = later()",
        "waiting.cr_running",
    ),
    ("", "loop.run_until_complete(waiting)"),
    (
        "import threading; lock = threading.Lock(); lock.acquire(); event = threading.Event()",
        "lock.locked()",
    ),
    ("taken = lock.acquire(blocking=False); event.set()", "taken, lock.locked(), event.is_set()"),
    ("lock.release(); local = threading.local(); local.value = 3", "lock.locked()"),
    ("", "local.value"),
    (
        "import sqlite3; db = sqlite3.connect(':memory:'); db.execute('create table t(a)')\ndb.executemany('insert into t values(?)', [(n,) for n in range(10)]); rows = db.execute('select a from t order by a')",
        "rows.fetchone()",
    ),
    ("", "rows.fetchmany(2), db.in_transaction"),
    ("db.rollback()", "db.execute('select count(*) from t').fetchone()"),
    (
        "disk = sqlite3.connect('data.db'); disk.execute('create table t(a)'); disk.execute('insert into t values(1)')",
        "disk.in_transaction",
    ),
    (
        "disk.commit(); disk.execute('insert into t values(2)')",
        "disk.execute('select sum(a) from t').fetchone()",
    ),
    (
        "disk.close(); disk = sqlite3.connect('data.db')",
        "disk.execute('select sum(a) from t').fetchone()",
    ),
    (
        "import hashlib; half = hashlib.sha256(b'a'); blake = hashlib.blake2b(b'a', key=b'k')",
        "half.hexdigest()[:8]",
    ),
    ("half.update(b'b'); blake.update(b'b')", "half.hexdigest()[:8], blake.hexdigest()[:8]"),
    (
        "import zlib, bz2, lzma; packers = [zlib.compressobj(), bz2.BZ2Compressor(), lzma.LZMACompressor()]\nparts = [p.compress(b'abc' * 1000) for p in packers]; inflate = zlib.decompressobj()",
        "len(parts[0])",
    ),
    (
        "wholes = [part + packer.flush() for part, packer in zip(parts, packers)]; begun = inflate.decompress(wholes[0], 10)",
        "[m.decompress(w)[-3:] for m, w in zip((zlib, bz2, lzma), wholes)]",
    ),
    ("", "len(inflate.decompress(inflate.unconsumed_tail))"),
    (
        "import io; buffer = io.BytesIO(b'abcdef'); buffer.read(2); text = io.StringIO('one\\ntwo\\n'); text.readline()",
        "buffer.tell()",
    ),
    ("", "buffer.read(), text.read()"),
    (
        "class Node: pass\nnode = Node(); import weakref; weak = weakref.ref(node); table = weakref.WeakValueDictionary(a=node)",
        "weak() is node, list(table)",
    ),
    ("del node; import gc; gc.collect()", "weak(), list(table)"),
    (
        "import contextvars; variable = contextvars.ContextVar('v'); token = variable.set(1); context = contextvars.copy_context()",
        "variable.get()",
    ),
    ("variable.reset(token)", "variable.get(None), context.run(variable.get)"),
    ("try: 1 / 0\nexcept ZeroDivisionError as error: saved = error", "str(saved)"),
    ("import traceback", "saved.__traceback__.tb_lineno, traceback.format_exception(saved)[-1]"),
    (
        "import contextlib; stack = contextlib.ExitStack(); stack.callback(done.append, 'closed')",
        "done",
    ),
    ("stack.close()", "done"),
    (
        "import functools\n@functools.lru_cache\ndef double(n): return n * 2\ndouble(4)",
        "double.cache_info()",
    ),
    ("double(4)", "double.cache_info()"),
    ("import re; found = re.finditer('a', 'banana'); next(found)", "next(found).start()"),
    ("", "next(found).start()"),
    ("import decimal; decimal.getcontext().prec = 7", "decimal.Decimal(1) / 7"),
    ("", "decimal.Decimal(2) / 7"),
    (
        "import lxml.etree as etree; tree = etree.fromstring('<a><b/></a>'); parser = etree.XMLPullParser(); parser.feed('<c><d/>')",
        "tree[0].tag",
    ),
    ("parser.feed('</c>')", "[element.tag for _, element in parser.read_events()]"),
    ("import collections; ring = collections.deque(range(5), 3); step = iter(ring)", "next(step)"),
    ("", "next(step), list(ring)"),
    (
        "import os; os.environ['KEPT'] = 'yes'; os.makedirs('in/side'); os.chdir('in')",
        "os.getcwd()",
    ),
    ("", "os.environ['KEPT'], os.getcwd(), os.listdir('.')"),
    (
        "os.chdir('/workspace'); file = open('notes.txt', 'w+'); file.write('one\\ntwo\\nthree\\n'); file.seek(4)",
        "file.readline()",
    ),
    ("", "file.tell(), file.readline()"),
    (
        "raw = os.open('notes.txt', os.O_RDWR | os.O_APPEND); copy = os.dup(raw); os.lseek(raw, 4, 0)",
        "os.read(copy, 3)",
    ),
    ("os.write(raw, b'four\\n')", "os.lseek(copy, 0, 1), os.fstat(raw).st_size"),
    (
        "os.link('notes.txt', 'linked'); os.symlink('notes.txt', 'soft'); os.utime('linked', (5, 6))",
        "os.stat('soft').st_nlink",
    ),
    ("", "os.stat('notes.txt').st_mtime, os.readlink('soft'), os.path.samefile('linked', 'soft')"),
    (
        "import tempfile; hidden = tempfile.TemporaryFile(); hidden.write(b'hidden'); hidden.flush(); hidden.seek(3)",
        "hidden.read()",
    ),
    (
        "hidden.seek(1); unnamed = open('unnamed', 'wb+'); unnamed.write(b'still here'); unnamed.flush(); os.unlink('unnamed')",
        "hidden.read()",
    ),
    ("unnamed.seek(6)", "unnamed.read(), os.path.exists('unnamed')"),
    (
        "for n in range(9): open(f'listed{n}', 'w').close()\nentries = os.scandir('.'); first = sorted(next(entries).name for _ in range(3))",
        "first",
    ),
    (
        "os.unlink('listed3')",
        "sorted(entry.name for entry in entries if entry.name.startswith('listed'))",
    ),
    (
        "import csv, gzip, zipfile; archive = zipfile.ZipFile('a.zip', 'w'); archive.writestr('one', '1' * 500); packed = gzip.open('a.gz', 'wb'); packed.write(b'x' * 1000)",
        "archive.namelist()",
    ),
    (
        "archive.writestr('two', '2'); archive.close(); packed.close()",
        "zipfile.ZipFile('a.zip').namelist(), gzip.open('a.gz').read(3)",
    ),
    (
        "with open('a.csv', 'w') as out: csv.writer(out).writerows([(n, n * n) for n in range(9)])\nsource = open('a.csv'); reader = csv.reader(source); next(reader)",
        "next(reader)",
    ),
    ("", "list(reader)[-1]"),
    (
        "import logging; log = logging.getLogger('kept'); log.addHandler(logging.FileHandler('log.txt')); log.warning('one')",
        "log.handlers[0].stream.tell()",
    ),
    ("log.warning('two')", "open('log.txt').read()"),
    ("import time; begun = time.monotonic(), time.time()", "begun"),
    ("", "time.monotonic() > begun[0], time.time() > begun[1], time.process_time()"),
    ("import uuid, secrets", "uuid.uuid4(), secrets.token_hex(4), os.urandom(3)"),
    ("large = bytearray(40 << 20); large[-1] = 7", "len(large)"),
    ("", "large[-1], sum(large)"),
    ("del large", "'large' in globals()"),
    ("missing", "1"),
    ("", "sorted(name for name in globals() if len(name) < 4)"),
];

#[test]
fn parked_unchanged_in_every_kind_of_state() {
    with_sandboxes(|sandboxes| {
        let setup = Arc::new(setup());
        let [first, second] = sandboxes;
        let mut original = Parked::open(first, &setup);
        let mut parked = Parked::open(first, &setup);
        let (mut wholes, mut length) = (0, 0);
        for (number, (code, value)) in TURNS.iter().enumerate() {
            let turn = turn(code, value, None);
            let expected = original.run(first, &turn);
            let here = if number % 2 == 0 { &mut *first } else { &mut *second };
            assert_eq!(parked.run(here, &turn), expected, "turn {number}: {code}");
            let facts = parked.checkpoint(here);
            parked.lose(here);
            let there = if number % 2 == 0 { &mut *second } else { &mut *first };
            parked.resume(there);

            let unparked = original.checkpoint(first);
            assert_eq!(facts.root, unparked.root, "the state after turn {number}: {code}");
            let place = difference(parked.memory(), original.memory());
            assert_eq!(place, None, "memory after turn {number}: {code}");
            let at = u32::try_from(number).unwrap();
            assert_eq!(facts.sequence, at + 1);
            length = if facts.is_whole() { 1 } else { length + 1 };
            assert!(length <= MOST_IN_CHAIN, "turn {number}");
            wholes += usize::from(facts.is_whole());
            if number + 2 < TURNS.len() && (code.is_empty() || value.is_empty()) {
                assert!(!expected.contains("Error"), "turn {number} has failed: {expected}");
            }
        }
        assert!(wholes > 2, "the chain was begun anew");
    });
}
