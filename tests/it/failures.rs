//! Failing programs and their error messages.

use serde_json::json;

use crate::support::{Client, TestServer, contained, failed, output};

fn client() -> Client {
    TestServer::shared().client()
}

#[test]
fn an_exception_is_told_with_the_lines_of_the_program() {
    let code = "import math\n\ndef inner(x):\n    return math.sqrt(x)\n\ndef main(args):\n    return inner(args['x'])\n";
    let result = client().run_with(code, json!({"args": {"x": -1}}));
    let (error_type, message) = failed(&result);
    assert_eq!(error_type, "ValueError");
    assert!(!message.is_empty());
    let traceback = result["error"]["traceback"].as_str().unwrap();
    assert!(traceback.starts_with("Traceback (most recent call last):\n"), "{traceback}");
    assert!(traceback.ends_with(&format!("ValueError: {message}")), "{traceback}");
    let wanted = [
        "File \"main.py\", line 7, in main\n    return inner(args['x'])",
        "File \"main.py\", line 4, in inner\n    return math.sqrt(x)",
    ];
    assert!(contained(traceback, wanted).is_empty(), "{traceback}");
    let foreign = ["_wardian", "runner.py", "<wardian>", "importlib", "_reactor"];
    assert_eq!(contained(traceback, foreign).len(), foreign.len(), "{traceback}");
}

#[test]
fn a_traceback_of_a_skill_names_its_files() {
    let result = client().execute("acme.faulty", json!({}));
    assert_eq!(failed(&result), ("ZeroDivisionError", "division by zero"));
    assert_eq!(result["logs_preview"], "before\n");
    let traceback = result["error"]["traceback"].as_str().unwrap();
    let wanted = [
        "File \"/skills/acme.faulty/code/main.py\", line 9, in main\n    return {\"quotient\": divide(1, args.get(\"by\", 0))}",
        "File \"/skills/acme.faulty/code/helper.py\", line 6, in divide\n    return one / other",
    ];
    assert!(contained(traceback, wanted).is_empty(), "{traceback}");
    assert_eq!(traceback.matches("File ").count(), 2, "no frames but the skill's: {traceback}");
}

#[test]
fn a_traceback_through_a_mounted_skill_has_both() {
    let code =
        "from skills.acme.faulty import main as faulty\ndef main(args):\n    return faulty(args)\n";
    let result = client().run_with(code, json!({"mount_skills": ["acme.faulty"]}));
    let traceback = result["error"]["traceback"].as_str().unwrap();
    let wanted =
        ["File \"main.py\", line 3", "File \"/skills/acme.faulty/code/helper.py\", line 6"];
    assert!(contained(traceback, wanted).is_empty(), "{traceback}");
    assert_eq!(traceback.matches("File ").count(), 3, "{traceback}");
}

#[test]
fn causes_and_groups_are_told() {
    let code = "def main(args):\n    try:\n        {}['key']\n    except KeyError as error:\n        raise ValueError('bad input') from error\n";
    let result = client().run(code);
    assert_eq!(failed(&result), ("ValueError", "bad input"));
    let traceback = result["error"]["traceback"].as_str().unwrap();
    let wanted =
        ["KeyError: 'key'", "direct cause of the following exception", "ValueError: bad input"];
    assert!(contained(traceback, wanted).is_empty(), "{traceback}");

    let code =
        "def main(args):\n    raise ExceptionGroup('two', [ValueError('a'), TypeError('b')])\n";
    let result = client().run(code);
    assert_eq!(failed(&result).0, "ExceptionGroup");
    let traceback = result["error"]["traceback"].as_str().unwrap();
    assert!(contained(traceback, ["ValueError: a", "TypeError: b"]).is_empty(), "{traceback}");
}

#[test]
fn every_end_has_its_type_and_message() {
    for (code, error_type, message) in [
        (
            "import sys\ndef main(args):\n    sys.exit(0)\n",
            "SystemExit",
            "the program called sys.exit(0) instead of returning a value",
        ),
        ("import sys\ndef main(args):\n    sys.exit()\n", "SystemExit", "sys.exit()"),
        ("import sys\ndef main(args):\n    sys.exit('gone')\n", "SystemExit", "gone"),
        ("def main(args):\n    exit(3)\n", "SystemExit", "sys.exit(3)"),
        (
            "import os\ndef main(args):\n    os._exit(3)\n",
            "SystemExit",
            "the program ended its process with exit code 3",
        ),
        ("import os\ndef main(args):\n    os._exit(0)\n", "SystemExit", "exit code 0"),
        (
            "import posix\ndef main(args):\n    posix.abort()\n",
            "SandboxCrash",
            "the interpreter aborted",
        ),
        ("def main(args):\n    raise KeyboardInterrupt\n", "KeyboardInterrupt", ""),
        (
            "class Stop(BaseException): pass\ndef main(args):\n    raise Stop('now')\n",
            "Stop",
            "now",
        ),
        ("def main(args):\n    raise GeneratorExit\n", "GeneratorExit", ""),
        ("import nothere\n", "ModuleNotFoundError", "No module named 'nothere'"),
        ("undefined\n", "NameError", "name 'undefined' is not defined"),
        ("def main(args):\n    return input()\n", "EOFError", "nobody types here"),
        ("def main(args):\n    args['missing']\n", "KeyError", "'missing'"),
        ("def main(args):\n    assert args, 'nothing given'\n", "AssertionError", "nothing given"),
        (
            "from runtime import blobs\ndef main(args):\n    blobs.read_text('blob:x')\n",
            "BlobNotFound",
            "add it to `input_blobs`",
        ),
        (
            "from runtime import blobs\ndef main(args):\n    blobs.write_text('x', kind='no kind')\n",
            "ValueError",
            "MIME type",
        ),
        (
            "class Mute(Exception):\n    def __str__(self): raise RuntimeError\ndef main(args):\n    raise Mute\n",
            "Mute",
            "its __str__ failed",
        ),
    ] {
        let result = client().run(code);
        let (found, said) = failed(&result);
        assert_eq!(found, error_type, "{code}");
        assert!(said.contains(message), "{code}: {said}");
        let summary = result["summary"].as_str().unwrap();
        assert!(!summary.is_empty(), "{code}");
    }
}

#[test]
fn code_that_is_no_python_is_shown_where() {
    for (code, error_type, wanted) in [
        (
            "def main(args)\n    return 1\n",
            "SyntaxError",
            "File \"main.py\", line 1\n    def main(args)\n                  ^",
        ),
        (
            "def main(args):\n    x = 1\n      y = 2\n",
            "IndentationError",
            "File \"main.py\", line 3",
        ),
        ("def main(args):\n\treturn 1\n        return 2\n", "TabError", "line 3"),
        ("def main(args):\n    return 'open\n", "SyntaxError", "unterminated string literal"),
        ("x = 1\0", "SyntaxError", "null bytes"),
        ("def main(args):\n    yield await 1\n", "SyntaxError", "line 2"),
    ] {
        let result = client().run(code);
        assert_eq!(failed(&result).0, error_type, "{code}");
        let traceback = result["error"]["traceback"].as_str().unwrap();
        assert!(traceback.contains(wanted), "{code}: {traceback}");
    }
}

#[test]
fn a_missing_entrypoint_is_told_with_those_there_are() {
    for (code, entrypoint, wanted) in [
        ("", "main", "it defines no functions"),
        ("def other(args): pass\ndef third(args): pass\n", "main", "it defines `other`, `third`"),
        ("main = 5\n", "main", "`main` in `main.py` is no function"),
        ("from math import sqrt\ndef main(args): pass\n", "run", "it defines `main`"),
    ] {
        let result = client().run_with(code, json!({"entrypoint": entrypoint}));
        let (error_type, message) = failed(&result);
        assert_eq!(error_type, "EntrypointNotFound", "{code}");
        assert!(message.contains(wanted), "{code}: {message}");
        assert!(message.contains(&format!("`{entrypoint}`")), "{message}");
    }
}

#[test]
fn functions_are_called_as_their_parameters_ask_for() {
    let args = json!({"amount": 5, "months": 7});
    for (code, expected) in [
        ("def main(args): return args", json!({"amount": 5, "months": 7})),
        ("def main(): return 'none'", json!({"result": "none"})),
        ("def main(amount, months): return [amount, months]", json!({"result": [5, 7]})),
        ("def main(amount, *, months=1): return months", json!({"result": 7})),
        ("def main(**given): return given", json!({"amount": 5, "months": 7})),
        (
            "def main(args, verbose=False): return [args['amount'], verbose]",
            json!({"result": [5, false]}),
        ),
        ("main = lambda args: args['months']", json!({"result": 7})),
        ("async def main(args): return args['amount']", json!({"result": 5})),
        (
            "import functools\ndef f(a, b): return [a, b['amount']]\nmain = functools.partial(f, 1)",
            json!({"result": [1, 5]}),
        ),
        (
            "class Callable:\n    def __call__(self, args): return args['amount']\nmain = Callable()",
            json!({"result": 5}),
        ),
        (
            "import asyncio\nasync def main(args):\n    parts = await asyncio.gather(*(asyncio.sleep(0.01, n) for n in range(3)))\n    return parts",
            json!({"result": [0, 1, 2]}),
        ),
        (
            "import asyncio\nasync def main(args): return await asyncio.to_thread(sum, [1, 2])",
            json!({"result": 3}),
        ),
        (
            "import queue\ndef main(args):\n    try: queue.Queue().get(timeout=0.01)\n    except queue.Empty: return 'empty'",
            json!({"result": "empty"}),
        ),
    ] {
        let result = client().run_with(code, json!({"args": args}));
        assert_eq!(*output(&result), expected, "{code}");
    }
    let result = client().run_with("def main(one, two): pass", json!({"args": args}));
    let (error_type, message) = failed(&result);
    assert_eq!(error_type, "TypeError");
    let wanted = ["`main(one, two)`", "`amount`, `months`", "def main(args):"];
    assert!(contained(message, wanted).is_empty(), "{message}");
}

#[test]
fn an_entrypoint_of_any_name_is_called() {
    let code = "def first(args):\n    return 1\ndef second(args):\n    return 2\n";
    let result = client().run_with(code, json!({"entrypoint": "second"}));
    assert_eq!(output(&result)["result"], 2);
}

#[test]
fn guarded_code_does_not_call_main_twice() {
    let code = "calls = []\ndef main(args=None):\n    calls.append(1)\n    return len(calls)\n\nif __name__ == '__main__':\n    main()\n";
    assert_eq!(output(&client().run(code))["result"], 1);
}

#[test]
fn recursion_without_end_fails_the_run_alone() {
    let client = client();
    for (code, error_type) in [
        ("def f(n): return f(n + 1)\ndef main(args): return f(0)\n", "RecursionError"),
        (
            "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\ndef main(args): return f(0)\n",
            "MemoryLimit",
        ),
        (
            "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr(self)\ndef main(args): return repr(A())\n",
            "RecursionError",
        ),
        ("def main(args):\n    return eval('(' * 5000 + ')' * 5000)\n", "SyntaxError"),
    ] {
        let result = client.run(code);
        let (found, _) = failed(&result);
        assert_eq!(found, error_type, "{code}: {result}");
        assert_eq!(output(&client.run("def main(args): return 1"))["result"], 1);
    }
    let result = client.run("def f(n): return f(n + 1)\ndef main(args): return f(0)\n");
    let traceback = result["error"]["traceback"].as_str().unwrap();
    assert!(traceback.len() <= 16 << 10, "{}", traceback.len());
    assert!(traceback.contains("frames left out"), "{traceback}");
}

#[test]
fn long_messages_are_cut() {
    let result = client().run("def main(args):\n    raise ValueError('x' * 10_000_000)\n");
    let (_, message) = failed(&result);
    assert!(message.len() <= 64 << 10, "{}", message.len());
    assert!(result["summary"].as_str().unwrap().len() <= 510);
    let traceback = result["error"]["traceback"].as_str().unwrap();
    assert!(traceback.len() <= 16 << 10, "{}", traceback.len());
}

#[test]
fn a_name_cannot_pretend_that_the_host_stopped_the_run() {
    for name in ["Timeout", "SandboxCrash", "MemoryLimit", "FuelExhausted", "StackOverflow"] {
        let code =
            format!("class {name}(Exception): pass\ndef main(args):\n    raise {name}('mine')\n");
        let result = client().run(&code);
        assert_eq!(failed(&result), ("Exception", format!("{name}: mine").as_str()));
    }
}

#[test]
fn a_refusal_can_be_caught_as_what_its_name_says() {
    let code = "
import runtime
from _wardian import door

def main(args):
    caught = []
    # What the host itself says of a file that is gone; `write_file` would look for it first.
    frame = door.WRITE_BLOB_FILE + b'\\x0a\\x00text/plain' + b'/workspace/gone'
    for kind in (FileNotFoundError, OSError, runtime.Refused):
        try:
            door.ask(frame)
        except kind as refused:
            caught.append([type(refused).__name__, str(refused)])
    return caught
";
    let result = client().run(code);
    let told = json!(["FileNotFoundError", "the file does not exist"]);
    assert_eq!(output(&result)["result"], json!([told, told, told]));
}

#[test]
fn a_program_that_ends_itself_with_a_signal_is_told_which() {
    for (code, signal) in [
        ("os.kill(os.getpid(), signal.SIGTERM)", "SIGTERM"),
        ("signal.raise_signal(signal.SIGUSR1)", "SIGUSR1"),
        (
            "signal.signal(signal.SIGHUP, signal.SIG_DFL)\nsignal.raise_signal(signal.SIGHUP)",
            "SIGHUP",
        ),
        ("os.killpg(os.getpgrp(), signal.SIGKILL)", "SIGKILL"),
        ("signal.alarm(1)\nwhile True: pass", "SIGALRM"),
        ("signal.setitimer(signal.ITIMER_REAL, 0.05)\nimport time; time.sleep(60)", "SIGALRM"),
        ("os.abort()", "SIGABRT"),
        ("faulthandler._sigsegv()", "SIGSEGV"),
        ("faulthandler._sigfpe()", "SIGFPE"),
        ("faulthandler._sigabrt()", "SIGABRT"),
    ] {
        let code = format!(
            "import faulthandler, os, signal\ntry:\n    print('first')\n    {}\nfinally:\n    print('no more')\n",
            code.replace('\n', "\n    ")
        );
        let result = client().run(&code);
        let message = format!("the program ended itself with {signal}");
        assert_eq!(failed(&result), ("SystemExit", &*message), "{code}");
        assert_eq!(result["logs_preview"], "first\n", "{code}");
    }
}

#[test]
fn a_handler_of_the_program_is_called_for_its_own_signals() {
    let code = "import os, signal\nseen = []\nfor one in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):\n    signal.signal(one, lambda number, frame: seen.append(number))\n    os.kill(os.getpid(), one)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.raise_signal(signal.SIGTERM)\nsignal.raise_signal(signal.SIGCHLD)\nos.kill(os.getpid(), 0)\n[seen, signal.alarm(0)]\n";
    assert_eq!(output(&client().run(code))["result"], json!([[15, 10, 2], 0]));
    let (error_type, _) = failed_with("import signal\nsignal.raise_signal(signal.SIGINT)\n");
    assert_eq!(error_type, "KeyboardInterrupt");
}

#[test]
fn a_timer_interrupts_a_program_that_computes_and_one_that_waits() {
    let code = r#"
import re, signal, threading, time
class Late(Exception): pass
def late(number, frame): raise Late
signal.signal(signal.SIGALRM, late)
def spins():
    while True: pass
def backtracks(): re.match(r"(a+)+$", "a" * 60 + "b")
def sleeps(): time.sleep(3600)
def locks():
    lock = threading.Lock()
    lock.acquire(); lock.acquire()
took = []
for work in (spins, backtracks, sleeps, locks) * 3:
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try: work()
    except Late: took.append(time.monotonic() - start)
[len(took), min(took) > 0.099]
"#;
    assert_eq!(output(&client().run(code))["result"], json!([12, true]));
    // No signal outlives its program, and the next run has no timer.
    for _ in 0..3 {
        let left = "import signal\nsignal.signal(signal.SIGALRM, lambda *call: None)\nsignal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n";
        assert_eq!(client().run(left)["status"], "completed");
        let next = "import signal, time\ntime.sleep(0.1)\nsignal.getitimer(signal.ITIMER_REAL)[0]";
        assert_eq!(output(&client().run(next))["result"], json!(0.0));
    }
}

#[test]
fn the_limit_of_a_run_ends_it_whatever_its_timer_does() {
    let code = "import signal\nsignal.signal(signal.SIGALRM, lambda *call: None)\nsignal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\nwhile True: pass";
    let result = client().run_with(code, json!({"timeout_ms": 500}));
    assert_eq!(failed(&result).0, "Timeout");
}

/// The type and message with which code fails.
fn failed_with(code: &str) -> (String, String) {
    let result = client().run(code);
    let (error_type, message) = failed(&result);
    (error_type.to_owned(), message.to_owned())
}

#[test]
fn a_failed_request_is_told_in_a_few_lines() {
    let code =
        "import requests\ndef main(args):\n    return requests.get('https://example.com/x').text\n";
    let result = client().run(code);
    let (error_type, message) = failed(&result);
    assert_eq!(error_type, "ConnectionError");
    assert!(message.contains("there is no network in the sandbox"), "{message}");
    assert!(message.contains("`network.code`"), "{message}");
    let traceback = result["error"]["traceback"].as_str().unwrap();
    assert!(traceback.lines().count() <= 14, "{traceback}");
    let wanted = [
        "File \"main.py\", line 3, in main\n    return requests.get(",
        "[which led to NameResolutionError, MaxRetryError]",
        "frames of requests, the last in requests/adapters.py, line ",
        "socket.gaierror: [Errno -3]",
    ];
    assert!(contained(traceback, wanted).is_empty(), "{traceback}");
    assert_eq!(traceback.matches("File ").count(), 1, "{traceback}");
}

#[test]
fn errors_that_do_not_show_the_sandbox_get_a_remark() {
    for (code, remark) in [
        (
            "import os\nos.environ['X_API_KEY']\n",
            "the environment has no variables of your machine",
        ),
        ("len(range(10**12))\n", "(r.stop - r.start) // r.step"),
        ("import sys, json\njson.load(sys.stdin)\n", "standard input is empty here"),
        ("import sys\nn = int(sys.stdin.readline())\n", "standard input is empty here"),
        ("import sys, pandas as pd\npd.read_csv(sys.stdin)\n", "standard input is empty here"),
        (
            "from sklearn.datasets import load_sample_image\nload_sample_image('china.jpg')\n",
            "load_iris",
        ),
        ("from sklearn.datasets import fetch_openml\nfetch_openml('mnist_784')\n", "load_iris"),
        ("import seaborn as sns\nsns.load_dataset('tips')\n", "pass a file as a blob"),
        ("import subprocess\nsubprocess.run(['git', 'log'])\n", "'git' (there are no repositories"),
        (
            "import subprocess\nsubprocess.run('soffice --headless a.docx', shell=True, check=True)\n",
            "no office program can run",
        ),
        (
            "import ssl\nraise OSError(ssl.SSLCertVerificationError('self-signed certificate'))\n",
            "`network.ca_file`",
        ),
    ] {
        let (_, message) = failed_with(code);
        assert!(message.contains(remark), "{code}: {message}");
    }
}
