//! Programs as models write them: scripts, own calls of `main`, threads, and unsupported features.

use serde_json::{Value, json};

use crate::support::{Client, TestServer, contained, failed, output};

fn client() -> Client {
    TestServer::shared().client()
}

#[test]
fn a_script_answers_with_its_log_or_its_last_value() {
    let printed = client().run("total = sum(range(5))\nprint('total', total)\n");
    assert_eq!(*output(&printed), Value::Null);
    assert_eq!(printed["logs_preview"], "total 10\n");
    for (code, expected) in [
        ("x = 20\nx + 1\n", json!({"result": 21})),
        ("{'a': [1, 2]}", json!({"a": [1, 2]})),
        ("import numpy as np\nnp.arange(3).sum()", json!({"result": 3})),
        ("{1}", json!({"result": [1]})),
        ("range", json!({"result": "<class 'range'>"})),
        ("'''Only a docstring.'''", Value::Null),
        ("if __name__ == '__main__':\n    x = 1\nx", json!({"result": 1})),
        ("import asyncio\nawait asyncio.sleep(0, 7)", json!({"result": 7})),
        ("```python\n40 + 2\n```", json!({"result": 42})),
        ("\u{feff}1 + 1", json!({"result": 2})),
        ("import sys\nsys.exit(0)", Value::Null),
    ] {
        assert_eq!(*output(&client().run(code)), expected, "{code}");
    }
    let code = "args['n'] + 1";
    assert_eq!(*output(&client().run_with(code, json!({"args": {"n": 4}}))), json!({"result": 5}));
}

#[test]
fn main_runs_once_whoever_calls_it() {
    let head = "import asyncio, sys\ncalls = []\n";
    for (function, call) in [
        ("def main", "main()"),
        ("def main", "print(main())"),
        ("def main", "sys.exit(main())"),
        ("def main", "if __name__ == '__main__':\n    main()"),
        ("def main", "if __name__ == '__main__':\n    result = main()\n    print(result)"),
        ("async def main", "asyncio.run(main())"),
        ("async def main", "if __name__ == '__main__':\n    asyncio.run(main())"),
        ("def main", "def cli():\n    main()\ncli()"),
        ("def main", ""),
    ] {
        let code = format!(
            "{head}{function}(args=None):\n    calls.append(1)\n    return {{'n': len(calls)}}\n{call}\n"
        );
        assert_eq!(*output(&client().run(&code)), json!({"n": 1}), "{code}");
        for params in [json!({"args": {"x": 1}}), json!({"entrypoint": "main"})] {
            if !call.contains("cli") {
                let result = client().run_with(&code, params);
                assert_eq!(*output(&result), json!({"n": 1}), "{code}");
            }
        }
    }
}

#[test]
fn a_missing_entrypoint_that_was_named_says_what_to_do() {
    let result = client().run_with("print(1)", json!({"entrypoint": "main"}));
    let (error_type, message) = failed(&result);
    assert_eq!(error_type, "EntrypointNotFound");
    let wanted = ["def main(args):", "return the result", "leave `entrypoint` out"];
    assert!(contained(message, wanted).is_empty(), "{message}");
    assert_eq!(client().run("print(1)")["status"], "completed");
}

#[test]
fn threads_run_one_after_another() {
    for (code, expected) in [
        (
            "import threading\nout = []\nts = [threading.Thread(target=out.append, args=(n,)) for n in range(3)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nout",
            json!([0, 1, 2]),
        ),
        (
            "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n    found = list(pool.map(lambda n: n * n, range(4)))\nfound",
            json!([0, 1, 4, 9]),
        ),
        (
            "from multiprocessing.pool import ThreadPool\nwith ThreadPool(2) as pool:\n    found = pool.map(abs, [-1, -2])\nfound",
            json!([1, 2]),
        ),
        (
            "from multiprocessing.dummy import Pool\nwith Pool(2) as pool:\n    found = pool.map(abs, [-1, -2])\nfound",
            json!([1, 2]),
        ),
        (
            "import queue, threading\nq, out = queue.Queue(), []\ndef work():\n    while (n := q.get()) is not None: out.append(n)\nt = threading.Thread(target=work)\nt.start()\nfor n in (1, 2, None): q.put(n)\nt.join()\nout",
            json!([1, 2]),
        ),
        (
            "import threading\nb, out = threading.Barrier(3), []\ndef meet():\n    b.wait()\n    out.append(1)\nts = [threading.Thread(target=meet) for _ in range(3)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nout",
            json!([1, 1, 1]),
        ),
    ] {
        let result = client().run(code);
        assert_eq!(output(&result)["result"], expected, "{code}");
    }
}

#[test]
fn waiting_for_what_never_comes_is_a_clear_error() {
    for code in [
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        "import threading\nthreading.Semaphore(0).acquire()",
        "import threading\nthreading.Barrier(2).wait()",
        "import threading\nthreading.Event().wait()",
        "import queue\nqueue.Queue().get()",
        "import queue\nqueue.SimpleQueue().get()",
        "import _thread\nlock = _thread.allocate_lock()\nlock.acquire()\nlock.acquire()",
    ] {
        let result = client().run(code);
        let (error_type, message) = failed(&result);
        assert_eq!(error_type, "RuntimeError", "{code}: {message}");
        assert!(message.contains("no threads in the sandbox"), "{code}: {message}");
    }
}

#[test]
fn what_cannot_work_says_what_to_do() {
    for (code, error_type, wanted) in [
        ("import playwright", "ModuleNotFoundError", "there is no browser"),
        ("import fitz", "ModuleNotFoundError", "pdfplumber or pypdf"),
        ("import pendulum", "ModuleNotFoundError", "zoneinfo"),
        ("import duckdb", "ModuleNotFoundError", "data.sql.query"),
        ("import polars as pl", "ModuleNotFoundError", "use pandas"),
        ("import bokeh.plotting", "ModuleNotFoundError", "matplotlib"),
        ("import qwertyuiop", "ModuleNotFoundError", "nothing can be installed"),
        ("!pip install polars\nimport polars", "SyntaxError", "use pandas"),
        ("%matplotlib inline\nprint(1)", "SyntaxError", "notebook"),
        ("import os\nos.execvp('id', ['id'])", "FileNotFoundError", "Python's library"),
        (
            "import subprocess\nsubprocess.check_output('id', shell=True)",
            "CalledProcessError",
            "no other program can run",
        ),
        ("import os\nos.fork()", "OSError", "no other program"),
        (
            "import subprocess\nsubprocess.run(['id'])",
            "FileNotFoundError",
            "'id' (no other program",
        ),
        ("import multiprocessing\nmultiprocessing.Queue()", "OSError", "multiprocessing.Pool"),
        (
            "import multiprocessing\np = multiprocessing.Process(target=print)\np.start()",
            "OSError",
            "ProcessPoolExecutor",
        ),
        (
            "import urllib.request\nurllib.request.urlopen('https://example.com')",
            "URLError",
            "there is no network",
        ),
        (
            "import urllib.request\nurllib.request.urlopen('http://example.com')",
            "URLError",
            "there is no network",
        ),
        (
            "import socket\nsocket.create_connection(('example.com', 80))",
            "OSError",
            "there is no network",
        ),
        ("import signal\nsignal.setitimer(signal.ITIMER_PROF, 1)", "OSError", "ITIMER_REAL"),
        ("x = input('name')", "EOFError", "main(args)"),
        ("open('blob:x')", "FileNotFoundError", "input_blobs"),
    ] {
        let result = client().run(code);
        let (found, message) = failed(&result);
        assert_eq!(found, error_type, "{code}: {message}");
        assert!(message.contains(wanted), "{code}: {message}");
    }
}

#[test]
fn summaries_and_tracebacks_say_enough() {
    let result = client().run("def main(args):\n    return {}['first name']\n");
    assert_eq!(result["summary"], "KeyError: 'first name'");
    let result = client().run("data = []\nwhile True:\n    data.append(bytearray(1 << 24))\n");
    let (error_type, _) = failed(&result);
    assert_eq!(error_type, "MemoryLimit");
    let traceback = result["error"]["traceback"].as_str().unwrap();
    assert!(traceback.contains("line 3, in <module>"), "{traceback}");
    let result = client().run("def main(args):\n    return {1: 'a', '1': 'b'}\n");
    assert!(failed(&result).1.contains("which are the same in JSON"), "{result}");
}
