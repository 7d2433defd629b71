//! Runs are isolated from each other.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Client, TestServer, failed, output};

/// A server with one worker: every run follows the one before in the same process.
fn one_worker() -> TestServer {
    TestServer::start(&["--workers", "1", "--set", "workers.spares=0"])
}

/// The outputs of several runs of the same code.
fn outputs(client: &Client, code: &str, runs: usize) -> Vec<Value> {
    (0..runs).map(|_| output(&client.run(code)).clone()).collect()
}

#[test]
fn nothing_of_one_run_is_in_the_next() {
    let server = one_worker();
    let client = server.client();
    let leave = "
import builtins, decimal, json, logging, os, random, sys, warnings
import numpy as np
import pandas as pd

def main(args):
    builtins.leak = sys.leak = os.leak = json.leak = 'secret-of-the-first-run'
    json.dumps = builtins.print = lambda *a, **k: None
    os.environ['LEAK'] = 'secret-of-the-first-run'
    os.makedirs('/workspace/leak/deep')
    open('/workspace/leak/file', 'w').write('secret-of-the-first-run')
    open('/tmp/other', 'w').close()
    os.chdir('/workspace/leak')
    sys.path.insert(0, '/workspace/leak')
    sys.argv.append('leak')
    sys.setrecursionlimit(123)
    decimal.getcontext().prec = 3
    logging.basicConfig(level=0)
    warnings.simplefilter('error')
    np.seterr(all='ignore')
    pd.set_option('display.max_rows', 1)
    random.seed(1)
    np.random.seed(1)
    del sys.modules['json']
    sys.modules['leak'] = os
";
    let look = "
import builtins, decimal, gc, json, logging, os, sys, warnings
import numpy as np
import pandas as pd

def main(args):
    return {
        'attributes': [hasattr(m, 'leak') for m in (builtins, sys, os, json)],
        'json': json.dumps({'a': 1}), 'environment': 'LEAK' in os.environ,
        'files': os.listdir('/workspace'), 'temporary': os.listdir('/tmp'), 'folder': os.getcwd(),
        'path': any('leak' in entry for entry in sys.path), 'argv': sys.argv,
        'recursion': sys.getrecursionlimit() > 500, 'precision': decimal.getcontext().prec,
        'handlers': len(logging.getLogger().handlers), 'numpy': np.geterr()['divide'],
        'pandas': pd.get_option('display.max_rows'), 'modules': 'leak' in sys.modules,
        'objects': sum(1 for o in gc.get_objects() if isinstance(o, dict) and 'leak' in o),
    }
";
    output(&client.run(leave));
    let clean = json!({
        "attributes": [false, false, false, false], "json": "{\"a\": 1}", "environment": false,
        "files": [], "temporary": [], "folder": "/workspace", "path": false, "argv": ["main.py"],
        "recursion": true, "precision": 28, "handlers": 0, "numpy": "warn", "pandas": 60,
        "modules": false, "objects": 0,
    });
    assert_eq!(*output(&client.run(look)), clean);
}

#[test]
fn a_failed_run_leaves_nothing_either() {
    let server = one_worker();
    let client = server.client();
    for end in [
        "raise ValueError('secret')",
        "import os; os._exit(1)",
        "import posix; posix.abort()",
        "while True: pass",
        "x = [bytearray(1 << 20) for _ in range(1000)]",
    ] {
        let code = format!(
            "import builtins, os\nbuiltins.leak = 1\nos.environ['LEAK'] = '1'\nopen('leak', 'w').close()\n{end}\n"
        );
        assert_eq!(client.run_with(&code, json!({"timeout_ms": 1_000}))["status"], "failed");
        let look = "import builtins, os\ndef main(args):\n    return [hasattr(builtins, 'leak'), 'LEAK' in os.environ, os.listdir()]\n";
        let found = client.run(look);
        assert_eq!(output(&found)["result"], json!([false, false, []]), "after {end}");
    }
}

#[test]
fn the_memory_of_the_run_before_cannot_be_found() {
    let server = one_worker();
    let client = server.client();
    // The text is put together at run time, so that the code itself does not hold it.
    let leave = "def main(args):\n    keep = [args['a'] + args['b'] + str(n) for n in range(100_000)]\n    return len(keep)\n";
    let args = json!({"args": {"a": "SECRET", "b": "-OF-THE-RUN-BEFORE-"}});
    output(&client.run_with(leave, args));
    let search = "
def main(args):
    needle = (args['a'] + args['b']).encode()
    found = 0
    for size in (1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 26):
        # numpy hands out memory as it is.
        import numpy as np
        block = np.empty(size, dtype=np.uint8).tobytes()
        found += block.count(needle)
    return found
";
    let args = json!({"args": {"a": "-OF-THE-RUN-", "b": "BEFORE-"}});
    assert_eq!(output(&client.run_with(search, args))["result"], 0);
}

#[test]
fn random_numbers_differ_from_run_to_run() {
    let server = one_worker();
    let client = server.client();
    let code = "
import os, random, secrets, sqlite3, tempfile, uuid
import numpy as np

def main(args):
    [drawn] = sqlite3.connect(':memory:').execute('select random(), hex(randomblob(8))')
    return {
        'sqlite': drawn[0], 'sqlite blob': drawn[1],
        'random': random.random(), 'normal': random.gauss(), 'bits': random.getrandbits(64),
        'numpy': float(np.random.rand()), 'generator': float(np.random.default_rng().random()),
        'urandom': os.urandom(8).hex(), 'secrets': secrets.token_hex(8), 'uuid': str(uuid.uuid4()),
        'name': tempfile.mktemp(), 'shuffled': random.sample(range(10**9), 5),
    }
";
    let seen = outputs(&client, code, 8);
    for name in seen[0].as_object().unwrap().keys() {
        let different: BTreeSet<String> = seen.iter().map(|one| one[name].to_string()).collect();
        assert_eq!(different.len(), seen.len(), "{name} repeats: {different:?}");
    }
}

#[test]
fn seeded_random_numbers_repeat() {
    let client = TestServer::shared().client();
    let code = "
import random
import numpy as np

def main(args):
    random.seed(7)
    np.random.seed(7)
    return [random.random(), float(np.random.rand()), float(np.random.default_rng(7).random())]
";
    let seen = outputs(&client, code, 3);
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[1], seen[2]);
}

#[test]
fn hash_secret_is_not_the_one_that_everybody_knows() {
    let code = "def main(args):\n    return [hash('wardian'), hash(b'wardian')]\n";
    let client = TestServer::shared().client();
    let ours = output(&client.run(code))["result"].clone();
    // A known secret of the hashes would allow prepared collisions. Python itself shows the hashes
    // without a secret; the sandbox keeps the lower 32 bits.
    let known = Command::new("python3")
        .args(["-c", "print([(hash(x) + 2**31) % 2**32 - 2**31 for x in ('wardian', b'wardian')])"])
        .env("PYTHONHASHSEED", "0")
        .output()
        .unwrap();
    let known: Value = serde_json::from_slice(&known.stdout).unwrap();
    for (ours, known) in ours.as_array().unwrap().iter().zip(known.as_array().unwrap()) {
        assert!(ours.is_i64() && ours != known, "{ours}");
    }
}

#[test]
fn a_run_never_sees_the_blobs_of_another() {
    let client = TestServer::shared().client();
    let secret = client.create_text("a secret of somebody else", "text/plain");
    let code = "
import os
from runtime import blobs

def main(args):
    found = os.listdir('/blobs')
    for path in (f'/blobs/{args[\"id\"]}', f'/blobs/../blobs/{args[\"id\"]}'):
        try:
            found.append(open(path).read())
        except FileNotFoundError:
            pass
    blobs.read_text(args['id'])
";
    let result = client.run_with(code, json!({"args": {"id": secret}}));
    assert_eq!(failed(&result).0, "BlobNotFound", "{result}");
}

#[test]
fn mounted_files_cannot_be_changed() {
    let client = TestServer::shared().client();
    let blob = client.create_text("unchanged", "text/plain");
    let code = "
import os

def main(args):
    refused = []
    files = ['/blobs/' + args['blob'], '/skills/acme.echo/skill.toml', '/skills/acme.echo/code/main.py']
    for file in files:
        for name, action in {
            'write': lambda: open(file, 'w'), 'append': lambda: open(file, 'a'),
            'update': lambda: open(file, 'r+'), 'remove': lambda: os.remove(file),
            'rename': lambda: os.rename(file, '/workspace/x'), 'truncate': lambda: os.truncate(file, 0),
            'link': lambda: os.link(file, '/workspace/x'), 'utime': lambda: os.utime(file, (1, 1)),
            'beside': lambda: open(os.path.dirname(file) + '/new', 'w'),
            'chmod': lambda: os.chmod(file, 0o777),
        }.items():
            before = os.stat(file)
            try:
                action()
            except (OSError, AttributeError, NotImplementedError):
                pass
            after = os.stat(file)
            same = (before.st_size, before.st_mtime, before.st_mode) == (after.st_size, after.st_mtime, after.st_mode)
            if not same or os.path.exists('/workspace/x'):
                refused.append([file, name])
    return refused
";
    let params =
        json!({"args": {"blob": blob}, "input_blobs": [blob], "mount_skills": ["acme.echo"]});
    let result = client.run_with(code, params);
    assert_eq!(output(&result)["result"], json!([]));
    assert_eq!(client.read_bytes(&blob), b"unchanged");
}
