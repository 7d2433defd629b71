//! Tables in files: Parquet, and Excel's two formats.
//!
//! `tests/fixtures/tables` has files that native pyarrow wrote and what native pandas reads from
//! them; `scripts/record-pictures` makes them.

use std::fs;

use serde_json::{Value, json};

use crate::support::{TestServer, failed, output, repository};

/// The value that a program returned, which is not an object.
fn answer(result: &Value) -> Value {
    output(result)["result"].clone()
}

const READ: &str = "import base64, io, pandas as pd
def main(args):
    read = pd.read_parquet(io.BytesIO(base64.b64decode(data))).reset_index()
    return {name: [str(read[name].dtype), read[name].map(repr).tolist()] for name in read}
";

#[test]
fn files_of_native_pyarrow_hold_the_same_table() {
    let client = TestServer::shared().client();
    let folder = repository("tests/fixtures/tables");
    let native = fs::read(folder.join("native.json")).unwrap();
    let native: Value = serde_json::from_slice(&native).unwrap();
    for compression in ["snappy", "gzip", "none", "zstd", "lz4", "brotli"] {
        for version in [1, 2] {
            let name = format!("{compression}-{version}.parquet");
            let data = data_encoding::BASE64.encode(&fs::read(folder.join(&name)).unwrap());
            let result = client.run(&format!("data = '{data}'\n{READ}"));
            assert_eq!(*output(&result), native, "{name}");
        }
    }
}

/// Programs and what native pandas with pyarrow answers.
const PROGRAMS: [(&str, &str); 8] = [
    (
        "def main(args):
    t = pd.DataFrame({'a': [1, 2**40, 3], 'b': ['x', None, 'z'], 'c': [1.5, None, 2.5],
                      'd': pd.date_range('2024-01-01', periods=3, tz='Europe/Vienna'),
                      'e': pd.Categorical(['u', 'v', 'u'])})
    t.to_parquet('t.parquet')
    r = pd.read_parquet('t.parquet')
    pd.testing.assert_frame_equal(t, r)
    part = pd.read_parquet('t.parquet', columns=['c', 'a'], engine='pyarrow')
    return [list(part), len(pd.read_parquet(io.BytesIO(t.to_parquet()))), str(r.dtypes['d'])]",
        "[[\"c\", \"a\"], 3, \"datetime64[us, Europe/Vienna]\"]",
    ),
    (
        "def main(args):
    t = pd.DataFrame({'n': range(300000), 's': ['abc'] * 300000}, index=range(5, 300005))
    t.index.name = 'key'
    sizes = []
    for compression in ('snappy', 'gzip', None):
        t.to_parquet('t.parquet', compression=compression)
        r = pd.read_parquet('t.parquet'); pd.testing.assert_frame_equal(t, r)
        sizes.append(os.path.getsize('t.parquet'))
    return [sizes[0] < sizes[2], sizes[1] < sizes[2], r.index.name, int(r.n.sum())]",
        "[true, true, \"key\", 44999850000]",
    ),
    (
        "def main(args):
    t = pd.DataFrame({'g': ['a', 'b'], 'h': [1, 2], 'v': [0.5, 1.5]}).set_index(['g', 'h'])
    t.to_parquet('t.parquet'); r = pd.read_parquet('t.parquet')
    t.to_parquet('u.parquet', index=False); u = pd.read_parquet('u.parquet')
    return [r.index.names, r.index.tolist(), u.index.tolist(), list(u)]",
        "[[\"g\", \"h\"], [[\"a\", 1], [\"b\", 2]], [0, 1], [\"v\"]]",
    ),
    (
        "def main(args):
    t = pd.DataFrame({'n': range(6), 's': ['a', 'b', None] * 2, 'v': [1.5, None, 2.5] * 2})
    t.to_parquet('t.parquet')
    kept = lambda f, **k: pd.read_parquet('t.parquet', filters=f, **k).iloc[:, 0].tolist()
    return [kept([('n', '>', 3)]), kept([('s', '==', 'a'), ('n', '>=', 1)]), kept([('v', '<', 2)]),
            kept([[('s', 'in', ['b'])], [('v', '!=', 1.5)]]), kept([('s', 'not in', ['a', 'b'])]),
            kept([('s', '=', 'b')], columns=['n']), pd.read_parquet('t.parquet', filters=[('n', '>', 3)]).index.tolist()]",
        "[[4, 5], [3], [0, 3], [1, 2, 4, 5], [2, 5], [1, 4], [0, 1]]",
    ),
    (
        "import numpy as np
def main(args):
    t = pd.DataFrame({'h': np.array([1.5, np.nan, -2], 'f2'), 'b': np.array([-128, 0, 127], 'i1')})
    t.to_parquet('t.parquet', compression='lz4'); r = pd.read_parquet('t.parquet')
    pd.testing.assert_frame_equal(t, r)
    return [str(d) for d in r.dtypes]",
        "[\"float16\", \"int8\"]",
    ),
    (
        "def main(args):
    t = pd.DataFrame({'a': [1, 2]}); t.to_parquet('t.parquet'); said = []
    for how in ({'columns': ['b']}, {'filters': [('b', '==', 1)]}, {'filters': [('a', '~', 1)]}, {'filters': []}):
        try:
            pd.read_parquet('t.parquet', **how)
        except ValueError as e:
            said.append(True)
    return said",
        "[true, true, true, true]",
    ),
    (
        "def main(args):
    said = []
    for bad in (b'', b'PAR1', b'not a parquet file at all', b'PAR1' + b'\\xff' * 40 + b'PAR1'):
        try:
            pd.read_parquet(io.BytesIO(bad))
        except (ValueError, OSError) as e:
            said.append(len(str(e)) > 5)
    return said",
        "[true, true, true, true]",
    ),
    (
        "def main(args):
    t = pd.DataFrame({'a': [1, 2], 'b': ['x', None]})
    t.to_excel('t.xlsx', index=False); r = pd.read_excel('t.xlsx')
    return [r.a.tolist(), r.b.isna().tolist(), list(pd.read_excel('t.xlsx', sheet_name=None))]",
        "[[1, 2], [false, true], [\"Sheet1\"]]",
    ),
];

#[test]
fn programs_answer_as_with_native_pandas() {
    let client = TestServer::shared().client();
    for (code, expected) in PROGRAMS {
        let expected: Value = serde_json::from_str(expected).unwrap();
        let code = format!("import io, os\nimport pandas as pd\n{code}\n");
        assert_eq!(answer(&client.run(&code)), expected, "{code}");
    }
}

/// Unsupported operations, each with a word that its error must have.
const REFUSED: [(&str, &str); 8] = [
    ("pd.DataFrame({'l': [[1], [2]]}).to_parquet('x')", "`l`|'l'"),
    ("pd.DataFrame({'m': [1, 'a']}).to_parquet('x')", "'m'"),
    ("pd.DataFrame({'a': [1]}).to_parquet('x', compression='brotli')", "snappy"),
    ("pd.DataFrame({'a': [1]}).to_parquet('x', partition_cols=['a'])", "partition_cols"),
    ("pd.read_parquet(io.BytesIO(good), filters=[('a', '==', 'x')])", "filters"),
    ("pd.DataFrame({'a': [1]}).to_parquet('x', compression='zstd')", "snappy"),
    ("pd.DataFrame({'a': pd.arrays.SparseArray([1])}).to_parquet('x')", "Sparse"),
    ("pd.read_excel(io.BytesIO(b'x'), engine='calamine')", "calamine"),
];

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let client = TestServer::shared().client();
    for (code, word) in REFUSED {
        let program = format!(
            "import io\nimport pandas as pd\ngood = pd.DataFrame({{'a': [1]}}).to_parquet()\n\
             def main(args):\n    {code}\n"
        );
        let result = client.run(&program);
        let (_, message) = failed(&result);
        assert!(word.split('|').any(|word| message.contains(word)), "{code}: {message}");
    }
}

/// Bytes at a place of a good file are replaced by others, again and again.
const DAMAGE: &str = "import io, random
import pandas as pd
def main(args):
    good = pd.DataFrame({'a': [1, 2, None] * 50, 's': ['x', 'yy', None] * 50}).to_parquet()
    random.seed(5); ends = {'read': 0, 'refused': 0}
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(random.randint(1, 6)):
            bad[random.randrange(len(bad))] = random.randrange(256)
        try:
            pd.read_parquet(io.BytesIO(bad)); ends['read'] += 1
        except (ValueError, OSError, NotImplementedError, MemoryError):
            ends['refused'] += 1
    return ends['refused'] > 50
";

#[test]
fn damaged_files_are_refused_as_such() {
    assert_eq!(answer(&TestServer::shared().client().run(DAMAGE)), json!(true));
}

#[test]
fn large_tables_get_the_types_that_a_look_at_each_value_gives() {
    let client = TestServer::shared().client();
    let program = fs::read_to_string(repository("tests/fixtures/tables/quick_types.py")).unwrap();
    let seed = std::process::id();
    let args = json!({"seed": seed, "count": 1_500});
    let mounts = json!(["data.sql.query"]);
    let params = json!({"args": args, "mount_skills": mounts, "timeout_ms": 120_000});
    let result = client.run_with(&program, params);
    assert_eq!(output(&result)["different"], json!([]), "seed {seed}: {result}");
    // About half of the texts have something that is left to Python.
    assert!(output(&result)["quick"].as_u64() > Some(300), "{result}");
}

#[test]
fn profiles_of_csv_files_read_in_parts_are_those_of_pandas_for_the_whole() {
    let client = TestServer::shared().client();
    let program = fs::read_to_string(repository("tests/fixtures/tables/csv_profile.py")).unwrap();
    let seed = std::process::id();
    let args = json!({"seed": seed, "count": 400});
    let mounts = json!(["data.csv.profile"]);
    let params = json!({"args": args, "mount_skills": mounts, "timeout_ms": 120_000});
    let result = client.run_with(&program, params);
    let found = output(&result);
    assert_eq!(found["count"], 0, "seed {seed}: {result}");
    // The rarer ways were gone, too.
    for (way, least) in [("hashed", 100), ("mixed", 30), ("given up", 30), ("looked up", 100)] {
        assert!(found["seen"][way].as_u64() > Some(least), "{way}: {result}");
    }
}
