//! Profiles of fuel: `--fuel-profile` of `wardian run` and `wardian exec`.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Command, Ended, SkillFolder, contained};

/// Types `wardian run FILE --json --fuel-profile` with a short interval and more arguments.
fn profiled(place: &Command, code: &str, more: &[&str]) -> Ended {
    place.file("main.py", code);
    let arguments = ["run", "main.py", "--json", "--fuel-profile", "--timeout-ms", "300000"];
    place.run(&[&arguments[..], more].concat())
}

/// The profile of a program that completes.
fn profile_of(code: &str) -> Value {
    let result = profiled(&Command::new(), code, &[]).with(0).json();
    checked(&result)
}

/// The profile in a result. Its sums are the fuel of the run.
fn checked(result: &Value) -> Value {
    let profile = result["fuel_profile"].clone();
    assert_eq!(profile["fuel"], result["fuel"], "{result}");
    for (list, member) in [("functions", "own_fuel"), ("stacks", "fuel")] {
        let parts = profile[list].as_array().unwrap().iter();
        let sum: u64 = parts.map(|part| part[member].as_u64().unwrap()).sum();
        assert_eq!(sum, profile["fuel"].as_u64().unwrap(), "{list}");
    }
    profile
}

/// The function of this name, or null.
fn function<'a>(profile: &'a Value, name: &str) -> &'a Value {
    let mut functions = profile["functions"].as_array().unwrap().iter();
    functions.find(|one| one["name"] == name).unwrap_or(&Value::Null)
}

/// A part of the fuel of a run, in percent.
fn percent(profile: &Value, name: &str, member: &str) -> u64 {
    function(profile, name)[member].as_u64().unwrap_or(0) * 100 / profile["fuel"].as_u64().unwrap()
}

/// The names of all stacks, the outermost function first.
fn stacks(profile: &Value) -> Vec<Vec<String>> {
    let name = |at: &Value| {
        let at = usize::try_from(at.as_u64().unwrap()).unwrap();
        profile["functions"][at]["name"].as_str().unwrap().to_owned()
    };
    let stacks = profile["stacks"].as_array().unwrap().iter();
    stacks.map(|one| one["functions"].as_array().unwrap().iter().map(name).collect()).collect()
}

/// Work for some tens of millions of units of fuel.
const HOT: &str = "\
def hot(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total

def cold(n):
    return sum(i for i in range(n))

def main():
    cold(100)
    return hot(200_000)

main()
";

#[test]
fn the_hot_function_is_first_and_callers_have_it_in_their_total() {
    let profile = profile_of(HOT);
    let first = &profile["functions"][0];
    assert_eq!(
        (&first["name"], &first["file"], &first["line"]),
        (&json!("hot"), &json!("main.py"), &json!(1))
    );
    assert!(percent(&profile, "main", "total_fuel") > 70, "{profile}");
    assert!(percent(&profile, "main", "own_fuel") < 2, "{profile}");
    assert!(percent(&profile, "cold", "total_fuel") < 2, "{profile}");
    assert_eq!(profile["interval"], 100_003);
    let start = function(&profile, "(start of the run)");
    assert!(start["own_fuel"].as_u64() > Some(100_000), "{profile}");
    // What runs around the program is no function of it, and the program's stack begins with itself.
    for stack in stacks(&profile) {
        let is_of_program = ["<module>", "(start of the run)", "(runner)"].contains(&&*stack[0]);
        let is_of_library = stack.len() == 1 || !stack.contains(&"hot".to_owned());
        assert!(is_of_program || is_of_library, "{stack:?}");
    }
    let hot = stacks(&profile).into_iter().find(|stack| stack.last().unwrap() == "hot");
    assert_eq!(hot.unwrap(), ["<module>", "main", "hot"]);
}

/// Programs whose fuel is nearly all used by the function that is named first in them.
const SHAPES: [(&str, &str); 9] = [
    ("fib", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(21)\n"),
    (
        "numbers",
        "def numbers(n):\n    for i in range(n):\n        yield i * i % 7 + i % 5\n\
         for _ in numbers(150_000): pass\n",
    ),
    (
        "work",
        "import asyncio\nasync def work(n):\n    total = 0\n    for i in range(n):\n        \
         total += i * i % 7\n        if i % 20_000 == 0: await asyncio.sleep(0)\n    return total\n\
         async def all():\n    return await asyncio.gather(work(60_000), work(60_000))\n\
         asyncio.run(all())\n",
    ),
    (
        "in_thread",
        "import threading\ndef in_thread():\n    total = 0\n    for i in range(150_000): \
         total += i * i % 7\nthread = threading.Thread(target=in_thread)\nthread.start()\n\
         thread.join()\n",
    ),
    (
        "squares",
        "def squares(n):\n    return [i * i % 7 for i in range(n)]\nfound = squares(200_000)\n",
    ),
    ("<lambda>", "f = lambda n: n * n % 7 + n % 5\nfor i in range(100_000): f(i)\n"),
    (
        "made",
        "exec(compile('def made(n):\\n  t = 0\\n  for i in range(n): t += i * i % 7', '<made>', \
         'exec'))\nmade(200_000)\n",
    ),
    (
        "Table.rows",
        "class Table:\n    def rows(self, n):\n        total = 0\n        for i in range(n): \
         total += i * i % 7\nTable().rows(200_000)\n",
    ),
    (
        "größe",
        "def größe(n):\n    total = 0\n    for i in range(n): total += i * i % 7\n\
         größe(200_000)\n",
    ),
];

#[test]
fn functions_of_every_kind_are_named() {
    for (name, code) in SHAPES {
        let profile = profile_of(code);
        let own = percent(&profile, name, "own_fuel");
        // A lambda and a loop share the work of calling it.
        let least = if name == "<lambda>" { 40 } else { 55 };
        assert!(own >= least, "{name}: {own} % of {}", profile["functions"]);
        let least = own.max(least);
        assert!(percent(&profile, name, "total_fuel") >= least, "{name}");
    }
}

#[test]
fn recursion_counts_once_in_its_total_and_deep_stacks_are_cut() {
    let profile = profile_of(SHAPES[0].1);
    assert!(percent(&profile, "fib", "total_fuel") <= 100, "{profile}");
    assert!(stacks(&profile).iter().any(|stack| stack.len() > 10));
    let deep = "def down(n):\n    total = sum(i % 7 for i in range(50))\n    \
                return total if n == 0 else down(n - 1)\nfor _ in range(5): down(900)\n";
    let deep = profile_of(deep);
    let stacks = stacks(&deep);
    let longest = stacks.iter().max_by_key(|stack| stack.len()).unwrap();
    assert!(longest.len() <= 258, "{}", longest.len());
    assert!(longest.contains(&"(calls left out)".to_owned()) && longest[0] == "<module>");
}

#[test]
fn the_garbage_collector_is_told_apart() {
    let code = "import gc\ndef cycles():\n    kept = [[i] for i in range(50_000)]\n    \
                for _ in range(20): gc.collect()\ncycles()\n";
    let profile = profile_of(code);
    assert!(percent(&profile, "(garbage collector)", "own_fuel") > 20, "{}", profile["functions"]);
    let below =
        |stack: &Vec<String>| stack.ends_with(&["cycles".into(), "(garbage collector)".into()]);
    assert!(stacks(&profile).iter().any(below));
}

#[test]
fn c_code_counts_for_the_function_that_called_it() {
    let code = "import numpy as np\ndef product():\n    a = np.ones((200, 200))\n    \
                for _ in range(3): a = a @ a / 200\nproduct()\n";
    let profile = profile_of(code);
    assert!(percent(&profile, "product", "own_fuel") > 30, "{}", profile["functions"]);
}

#[test]
fn a_program_that_fails_or_runs_out_of_fuel_has_its_profile_until_then() {
    let place = Command::new();
    let raises = format!("{HOT}1 / 0\n");
    let failed = profiled(&place, &raises, &[]).with(1).json();
    assert_eq!(failed["error"]["type"], "ZeroDivisionError");
    assert_eq!(checked(&failed)["functions"][0]["name"], "hot");

    let endless = HOT.replace("200_000", "10**12");
    let stopped = profiled(&place, &endless, &["--fuel", "60000000"]).with(1).json();
    assert_eq!(stopped["error"]["type"], "FuelExhausted");
    assert_eq!(stopped["fuel"], 60_000_000);
    let profile = checked(&stopped);
    assert_eq!(profile["functions"][0]["name"], "hot");

    // A loop without a call is met where it is when its fuel ends.
    let tight = "def tight():\n    while True: pass\ntight()\n";
    let stopped = profiled(&place, tight, &["--fuel", "60000000"]).with(1).json();
    assert_eq!(checked(&stopped)["functions"][0]["name"], "tight");
}

/// Each command starts a worker of its own.
#[test]
fn a_repetition_has_the_same_profile_and_the_profile_costs_no_fuel() {
    let place = Command::new();
    let code = format!(
        "import random, json\n{HOT}\nx = {{str(random.random()) for _ in range(999)}}\n\
                        print(json.dumps(sorted(x)))\n"
    );
    let repeated = |more: &[&str]| {
        let mut result = profiled(&place, &code, more).with(0).json();
        for varying in ["run_id", "duration_ms"] {
            result.as_object_mut().unwrap().remove(varying).unwrap();
        }
        result
    };
    let first = repeated(&["--reproducible"]);
    assert_eq!(repeated(&["--reproducible"]), first);
    let often = repeated(&["--reproducible", "--fuel-profile-interval", "1009"]);
    assert_eq!(often["fuel"], first["fuel"], "samples cost fuel");
    let samples = |result: &Value| result["fuel_profile"]["samples"].as_u64().unwrap();
    assert!(samples(&often) > 20 * samples(&first));
    checked(&often);
    place.file("main.py", &code);
    let plain = place.run(&["run", "main.py", "--json", "--reproducible"]).with(0).json();
    assert_eq!(plain["fuel"], first["fuel"], "the profile costs fuel");
    assert_eq!(plain.get("fuel_profile"), None);
}

#[test]
fn the_table_goes_to_stderr_and_the_files_to_their_places() {
    let place = Command::new();
    let code = format!("{HOT}print('printed')\n");
    place.file("main.py", code);
    let files = ["stacks.folded", "all.json", "all.speedscope.json"];
    let wanted: Vec<String> = files.iter().map(|file| format!("--fuel-profile={file}")).collect();
    let arguments: Vec<&str> =
        ["run", "main.py"].into_iter().chain(wanted.iter().map(String::as_str)).collect();
    let ended = place.run(&arguments).with(0);
    assert_eq!(ended.stdout, "printed\n{\n  \"result\": 399999\n}\n");
    let header = ["fuel by function: ", "OWN FUEL", "OWN %", "TOTAL %", "SAMPLES", "main.py:1"];
    assert!(contained(&ended.stderr, header).is_empty(), "{}", ended.stderr);
    let read = |file: &str| fs::read_to_string(place.folder().join(file)).unwrap();
    assert!(
        read("stacks.folded").contains("<module> (main.py:1);main (main.py:10);hot (main.py:1) ")
    );
    let all: Value = serde_json::from_str(&read("all.json")).unwrap();
    let speedscope: Value = serde_json::from_str(&read("all.speedscope.json")).unwrap();
    assert_eq!(speedscope["profiles"][0]["endValue"], all["fuel"]);

    for (arguments, expected) in [
        (&["--fuel-profile=a.png"][..], "must end with `.folded`"),
        (&["--fuel-profile-interval", "5000"], "--fuel-profile"),
        (&["--fuel-profile", "--fuel-profile-interval", "999"], "999"),
    ] {
        let refused = place.run(&[&["run", "main.py"], arguments].concat()).with(2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
        assert_eq!(refused.stdout, "", "nothing was executed");
    }
    let nowhere = place.run(&["run", "main.py", "--fuel-profile=gone/a.folded"]).with(2);
    assert!(nowhere.stderr.contains("gone/a.folded"), "{}", nowhere.stderr);
}

#[test]
fn names_of_a_hostile_program_stay_names() {
    let place = Command::new();
    let code = "\
def work(n):
    total = 0
    for i in range(n):
        total += i * i % 7
name = '</title><script>alert(1)</script>;\\x1b[2J\\n'
work.__code__ = work.__code__.replace(co_qualname=name, co_filename=name * 99)
work(150_000)
";
    place.file("main.py", code);
    let ended = place.run(&["run", "main.py", "--fuel-profile=a.folded"]).with(0);
    assert!(!ended.stderr.contains('\x1b'), "{}", ended.stderr);
    let read = |file: &str| fs::read_to_string(place.folder().join(file)).unwrap();
    let folded = read("a.folded");
    assert!(folded.contains("alert(1)</script>_\u{fffd}[2J\u{fffd} ("), "{folded}");
}

#[test]
fn skills_are_profiled_too() {
    let skills = SkillFolder::new();
    skills.action(
        "acme.hot",
        "1.0.0",
        &format!("{}\ndef main(args):\n    return hot(200_000)\n", HOT.replace("\nmain()\n", "")),
    );
    let place = Command::new().set("WARDIAN_SKILLS_ROOTS", skills.path());
    let result = place.run(&["exec", "acme.hot", "--fuel-profile", "--json"]).with(0).json();
    let first = &checked(&result)["functions"][0];
    assert_eq!(
        (&first["name"], &first["file"]),
        (&json!("hot"), &json!("/skills/acme.hot/code/main.py"))
    );
}
