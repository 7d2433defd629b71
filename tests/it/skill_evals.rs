//! `wardian skills eval`, with a stand-in for the endpoint of a model that has both interfaces.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::support::{Command, contained};

const KEY: &str = "sk-stand-in-1234567890";

/// How the stand-in behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// It solves the task with the skill, fails without it, and grades.
    Able,
    /// The same, but its first answer is that it is busy.
    BusyAtFirst,
    /// It calls a tool again and again.
    Endless,
    /// It refuses the key, which it repeats.
    Refusing,
    /// It knows the older name of the limit of an answer only.
    Older,
    /// It is able with the skill, and refuses whatever comes without it.
    RefusingWithout,
    /// It solves the task, and gives no grades.
    Ungrading,
    /// Its calls have arguments that are not JSON.
    Malformed,
}

#[derive(Debug)]
struct Asked {
    path: String,
    headers: String,
    body: Value,
}

/// An endpoint on a port of its own.
struct StandIn {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl StandIn {
    fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let shared = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                serve(stream.unwrap(), manner, &shared);
            }
        });
        Self { url, asked }
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

/// Answers one request, and closes the connection.
fn serve(mut stream: TcpStream, manner: Manner, asked: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut headers = String::new();
    while reader.read_line(&mut headers).unwrap() > 2 {}
    let headers = headers.to_lowercase();
    let length = headers.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let path = headers.split(' ').nth(1).unwrap().to_owned();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let number = asked.lock().unwrap().len();
    let (status, answer) = match manner {
        Manner::BusyAtFirst if number == 0 => (429, json!({"error": {"message": "wait"}})),
        Manner::Refusing => {
            let message = format!("the key {KEY} is not known");
            (401, json!({"error": {"message": message}}))
        }
        Manner::Older if body.get("max_completion_tokens").is_some() => {
            (400, json!({"error": {"message": "unknown parameter max_completion_tokens"}}))
        }
        Manner::RefusingWithout if is_without_skill(&body) => {
            (400, json!({"error": {"message": "no"}}))
        }
        _ => (200, answer(&path, &body, manner)),
    };
    asked.lock().unwrap().push(Asked { path, headers, body });
    let answer = answer.to_string();
    let head = format!("HTTP/1.1 {status} x\r\nretry-after: 0\r\nconnection: close\r\n");
    let length = answer.len();
    write!(stream, "{head}content-length: {length}\r\n\r\n{answer}").ok();
}

/// True for the task without the skill: neither the skill nor a grading is in it.
fn is_without_skill(body: &Value) -> bool {
    let text = body.to_string();
    !text.contains("This skill is available: `shout`") && !text.contains("You grade the result")
}

/// What the model says next: a text, and the calls that it asks for.
fn spoken(body: &Value, manner: Manner) -> (String, Vec<(&'static str, Value)>) {
    let text = body.to_string();
    if text.contains("You grade the result") {
        if manner == Manner::Ungrading {
            return ("I would rather not.".to_owned(), Vec::new());
        }
        let passed = text.contains("THE LETTER");
        let grades: Vec<Value> =
            (1..=text.split("# Statements").nth(1).unwrap().matches("It is loud").count())
                .map(|number| json!({"number": number, "passed": passed, "evidence": "the answer"}))
                .collect();
        return (format!("```json\n{}\n```", json!({"grades": grades})), Vec::new());
    }
    if matches!(manner, Manner::Endless | Manner::Malformed) {
        return (String::new(), vec![("run_code", json!({"code": "1"}))]);
    }
    let turn = body["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "assistant");
    let has_skill = text.contains("This skill is available: `shout`");
    match (turn.count(), has_skill) {
        (0, true) => {
            let peek = json!({"name": "shout", "path": "evals/evals.json"});
            let calls = vec![
                ("describe_skill", json!({"name": "shout", "detail": "full"})),
                ("read_skill_file", peek),
                ("no_such_tool", json!({})),
            ];
            (String::new(), calls)
        }
        (1, true) => {
            let argv = json!({"name": "shout", "script": "scripts/shout.py", "argv": ["letter.txt", "out/loud.txt"]});
            (
                String::new(),
                vec![
                    (
                        "run_code",
                        json!({"code": "import os\nos.mkdir('out')\nlen(open('letter.txt').read())"}),
                    ),
                    ("execute_skill", argv),
                ],
            )
        }
        (_, true) => ("It says: THE LETTER".to_owned(), Vec::new()),
        (0, false) => (String::new(), vec![("run_code", json!({"code": "1/0"}))]),
        (_, false) => ("I cannot shout the letter.".to_owned(), Vec::new()),
    }
}

/// The answer in the form of the interface that was called.
fn answer(path: &str, body: &Value, manner: Manner) -> Value {
    let (text, calls) = spoken(body, manner);
    let ids = (0..).map(|number| format!("call_{number}"));
    if path.ends_with("/messages") {
        let mut content = vec![json!({"type": "text", "text": text})];
        content.extend(ids.zip(calls).map(|(id, (name, input))| {
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }));
        return json!({"type": "message", "role": "assistant", "content": content,
            "stop_reason": "end_turn", "usage": {"input_tokens": 30, "output_tokens": 12}});
    }
    let calls = ids.zip(calls).map(|(id, (name, arguments))| {
        let arguments = match manner {
            Manner::Malformed => "{\"code\": 1+".to_owned(),
            _ => arguments.to_string(),
        };
        json!({"id": id, "type": "function",
            "function": {"name": name, "arguments": arguments}})
    });
    let calls: Vec<Value> = calls.collect();
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 12}})
}

/// A skill with three cases, in an empty place.
fn place() -> Command {
    let place = Command::new().set("MODEL_KEY", KEY);
    let document =
        "---\nname: shout\ndescription: Shouts. Use it to make texts loud.\n---\n# Shout\n";
    place.file("shout/SKILL.md", document);
    let script = "import sys\nfrom pathlib import Path\nif __name__ == '__main__':\n    \
        Path(sys.argv[2]).write_text(Path(sys.argv[1]).read_text().upper())\n";
    place.file("shout/scripts/shout.py", script);
    place.file("shout/evals/files/letter.txt", "the letter");
    let checks = json!([
        {"type": "contains", "value": "THE LETTER"},
        {"type": "not_contains", "value": "cannot"},
        {"type": "regex", "value": "^THE +LETTER$", "path": "out/loud.txt"},
        {"type": "file_exists", "value": "out/*.txt"},
        {"type": "python", "code": "open('out/loud.txt').read() in answer", "name": "they agree"},
        {"type": "file_exists", "value": "letter.txt"},
    ]);
    let cases = json!({"skill_name": "shout", "evals": [
        {"id": 1, "prompt": "Shout the letter.", "files": ["evals/files/letter.txt"],
            "expected_output": "A loud letter", "expectations": ["It is loud"], "assertions": checks},
        {"id": 2, "prompt": "Shout again.", "files": ["evals/files/letter.txt"],
            "expected_output": "It is loud"},
    ]});
    place.file("shout/evals/evals.json", cases.to_string());
    place
}

fn ask<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let options =
        ["skills", "eval", "shout", "--endpoint", url, "--model", "m", "--key-env", "MODEL_KEY"];
    [&options[..], more].concat()
}

#[test]
fn a_skill_is_compared_with_its_absence_through_both_interfaces() {
    for (api, header) in [("openai", "authorization: bearer "), ("anthropic", "x-api-key: ")] {
        let (place, model) = (place(), StandIn::start(Manner::Able));
        let ended =
            place.run(&ask(&model.url, &["--api", api, "--json", "--out", "results"])).with(0);
        let said = ["4 runs with m at", "case 1: with skill, run 1: 7 of 7 passed"];
        assert!(contained(&ended.stderr, said).is_empty(), "{}", ended.stderr);
        let report = ended.json();
        assert_eq!(report["run_summary"]["with_skill"]["pass_rate"]["mean"], 1.0, "{report:#}");
        let without = &report["run_summary"]["without_skill"]["pass_rate"];
        assert!((without["mean"].as_f64().unwrap() - 1.0 / 14.0).abs() < 0.001, "{report:#}");
        assert_eq!(report["run_summary"]["delta"]["pass_rate"], "+0.93");
        let first = &report["runs"][0];
        assert_eq!((&first["eval_id"], &first["configuration"]), (&json!(1), &json!("with_skill")));
        let result = &first["result"];
        // The cases and a tool that does not exist were asked for in vain.
        let counted = ["tool_calls", "errors", "tokens"].map(|name| result[name].clone());
        assert_eq!(counted, [json!(5), json!(2), json!(126)], "{first:#}");
        let notes = report["notes"].to_string();
        let wanted =
            ["`they agree` passes more often with the skill", "letter.txt exists` always passes"];
        assert!(contained(&notes, wanted).is_empty(), "{notes}");
        let asked = model.asked.lock().unwrap();
        // Three turns and two, and two gradings, of each of two cases.
        assert_eq!(asked.len(), 14, "{asked:#?}");
        for asked in asked.iter() {
            assert!(asked.headers.contains(&format!("{header}{KEY}")), "{}", asked.headers);
            assert!(!asked.body.to_string().contains(KEY));
        }
        let paths = [("openai", "/chat/completions"), ("anthropic", "/v1/messages")];
        assert!(paths.contains(&(api, asked[0].path.as_str())), "{}", asked[0].path);
        drop(asked);
        let run = place.folder().join("results/eval-1/with_skill/run-1");
        assert_eq!(fs::read_to_string(run.join("outputs/out/loud.txt")).unwrap(), "THE LETTER");
        let transcript = fs::read_to_string(run.join("transcript.json")).unwrap();
        assert!(transcript.contains("scripts/shout.py") && !transcript.contains("they agree"));
        let grading: Value =
            serde_json::from_str(&fs::read_to_string(run.join("grading.json")).unwrap()).unwrap();
        assert_eq!(grading["summary"]["passed"], 7, "{grading:#}");
        for file in ["benchmark.json", "eval-2/without_skill/run-1/timing.json"] {
            let text = fs::read_to_string(place.folder().join("results").join(file)).unwrap();
            assert!(!text.contains(KEY), "{text}");
        }
        let again = place.run(&ask(&model.url, &["--api", api, "--out", "results"])).with(2);
        assert!(again.stderr.contains("results is not empty"), "{}", again.stderr);
        assert_eq!(model.count(), 14);
    }
}

#[test]
fn the_report_for_people_has_rates_and_a_share_can_be_demanded() {
    let (place, model) = (place(), StandIn::start(Manner::BusyAtFirst));
    let ended = place.run(&ask(&model.url, &["--case", "2", "--min-pass", "1"])).with(0);
    let wanted = [
        "CASE  WITH   WITHOUT  POINTS",
        "2     100 %  0 %      +100",
        "with the skill: 100 % passed",
    ];
    assert!(contained(&ended.stdout, wanted).is_empty(), "{}", ended.stdout);
    let older = StandIn::start(Manner::Older);
    let ended = place.run(&ask(&older.url, &["--case", "2"])).with(0);
    assert!(ended.stdout.contains("with the skill: 100 % passed"), "{}", ended.stdout);
    let endless = StandIn::start(Manner::Endless);
    let more = ["--case", "2", "--max-turns", "2", "--min-pass", "0.5"];
    let ended = place.run(&ask(&endless.url, &more)).with(1);
    let wanted =
        ["the model has not finished after 2 answers", "0 % passed with the skill, less than 50 %"];
    assert!(contained(&ended.stderr, wanted).is_empty(), "{}", ended.stderr);
}

#[test]
fn what_the_endpoint_failed_is_no_result_of_the_skill() {
    let (place, model) = (place(), StandIn::start(Manner::RefusingWithout));
    let ended = place.run(&ask(&model.url, &["--case", "2"])).with(1);
    let wanted = [
        "2     100 %  none     none",
        "case 2, without skill, run 1: no result, so it is in no rate: the endpoint refuses with status 400: no",
        "case 2: there is no result without the skill to compare",
        "with the skill: 100 % passed",
        "without the skill: no results",
    ];
    assert!(contained(&ended.stdout, wanted).is_empty(), "{}", ended.stdout);
    let report = place.run(&ask(&model.url, &["--json"])).with(1).json();
    assert_eq!(report["run_summary"]["with_skill"]["pass_rate"]["mean"], 1.0, "{report:#}");
    assert_eq!(report["run_summary"]["without_skill"]["runs_without_result"], 2, "{report:#}");
    assert_eq!(report["run_summary"]["delta"]["pass_rate"], Value::Null);
    assert_eq!(report["runs"].as_array().unwrap().len(), 2, "{report:#}");
    // The computed checks count, and the statement does not.
    let silent = StandIn::start(Manner::Ungrading);
    let report = place.run(&ask(&silent.url, &["--case", "1", "--json"])).with(1).json();
    assert_eq!(report["run_summary"]["with_skill"]["pass_rate"]["mean"], 1.0, "{report:#}");
    assert_eq!(report["runs"][0]["result"]["not_graded"], 1, "{report:#}");
    let notes = report["notes"].to_string();
    let told = "case 1, with skill, run 1: 1 statement was not graded: the model gave no grades";
    assert!(notes.contains(told), "{notes}");
}

#[test]
fn a_refusal_is_told_without_the_key() {
    let (place, model) = (place(), StandIn::start(Manner::Refusing));
    let ended = place.run(&ask(&model.url, &["--case", "2"])).with(1);
    let told = "refuses with status 401: the key [key] is not known";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(!format!("{ended:?}").contains(KEY), "{ended:?}");
    assert_eq!((model.count(), ended.stdout.as_str()), (1, ""), "{ended:?}");
}

#[test]
fn arguments_that_are_not_json_are_kept_as_they_were_written() {
    let (place, model) = (place(), StandIn::start(Manner::Malformed));
    let more = ["--case", "2", "--max-turns", "1", "--out", "results"];
    place.run(&ask(&model.url, &more)).with(1);
    let path = place.folder().join("results/eval-2/with_skill/run-1/transcript.json");
    let transcript: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let call = &transcript["steps"][0]["calls"][0];
    assert_eq!(call["arguments"], "{\"code\": 1+", "{transcript:#}");
    let result = call["result"].as_str().unwrap();
    assert!(result.starts_with("the arguments are not JSON: "), "{result}");
}

#[test]
fn an_answer_may_have_no_more_tokens_than_its_run_has_left() {
    let (place, model) = (place(), StandIn::start(Manner::Endless));
    let limits = |model: &StandIn| {
        let asked = model.asked.lock().unwrap();
        let of_run = asked.iter().filter(|one| one.body.get("tools").is_some());
        let limits = of_run.map(|one| one.body["max_completion_tokens"].as_u64().unwrap());
        limits.collect::<Vec<_>>()
    };
    place.run(&ask(&model.url, &["--case", "2", "--max-turns", "1"])).with(1);
    assert_eq!(limits(&model), [8192_u64; 2]);
    let model = StandIn::start(Manner::Endless);
    place
        .run(&ask(&model.url, &["--case", "2", "--max-turns", "2", "--max-tokens", "5000"]))
        .with(1);
    let [first, second, ..] = limits(&model)[..] else { panic!("no two questions") };
    assert!(first < 5000 && second < 5000 - 2 * 42, "{first} {second}");
    let model = StandIn::start(Manner::Endless);
    let ended = place.run(&ask(&model.url, &["--case", "2", "--max-tokens", "20"])).with(1);
    assert_eq!(limits(&model), [0_u64; 0], "{}", ended.stderr);
    assert!(ended.stderr.contains("0 of its 20 tokens"), "{}", ended.stderr);
}

#[test]
fn a_regular_expression_that_is_none_is_named_before_anybody_is_called() {
    let (place, model) = (place(), StandIn::start(Manner::Able));
    let cases = json!({"evals": [
        {"id": "good", "prompt": "x", "assertions": [{"type": "regex", "value": "(?i)^a{2,}(?=b)"}]},
        {"id": "broken", "prompt": "x", "assertions": [{"type": "regex", "value": "out(.*"}]},
    ]});
    place.file("shout/evals/evals.json", cases.to_string());
    let wanted =
        ["shout/evals/evals.json: case broken: `out(.*` is not a regular expression: missing )"];
    let listed = place.run(&["skills", "eval", "shout", "--list"]).with(2);
    assert!(contained(&listed.stderr, wanted).is_empty(), "{}", listed.stderr);
    let run = place.run(&ask(&model.url, &[])).with(2);
    assert!(contained(&run.stderr, wanted).is_empty(), "{}", run.stderr);
    assert_eq!(model.count(), 0);
    place.run(&["skills", "eval", "shout", "--list", "--case", "good"]).with(0);
}

#[test]
fn nobody_is_called_for_what_is_wrong_or_only_listed() {
    let (place, model) = (place(), StandIn::start(Manner::Able));
    let url = model.url.as_str();
    let listed = place.run(&["skills", "eval", "shout", "--list"]).with(0);
    assert!(
        listed.stdout.contains("1     7           1      Shout the letter."),
        "{}",
        listed.stdout
    );
    let as_json =
        place.run(&["skills", "eval", "shout", "--list", "--json", "--case", "2"]).with(0);
    assert_eq!(as_json.json()[0]["prompt"], "Shout again.");
    let unnamed = place.run(&["skills", "eval", "shout", "--endpoint", url]).with(2);
    assert!(unnamed.stderr.contains("--model <NAME>"), "{}", unnamed.stderr);
    for (more, reason) in [
        (&["--case", "9"][..], "no case has the id `9`: there are 1, 2"),
        (&["--min-pass", "2"][..], "a share from 0 to 1"),
    ] {
        let ended = place.run(&ask(url, more)).with(2);
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    }
    let other = place.run(&ask("http://192.0.2.1/v1", &[])).with(2);
    assert!(other.stderr.contains("sent without encryption"), "{}", other.stderr);
    let keyless =
        ["skills", "eval", "shout", "--endpoint", url, "--model", "m", "--key-env", "NO_KEY"];
    let keyless = place.run(&keyless).with(2);
    assert!(keyless.stderr.contains("`NO_KEY` has no key"), "{}", keyless.stderr);
    place.file("shout/evals/evals.json", r#"{"evals": [{"id": 1, "prompt": "x"}]}"#);
    let wrong = place.run(&ask(url, &[])).with(2);
    assert!(wrong.stderr.contains("case 1: it needs `expectations`"), "{}", wrong.stderr);
    assert_eq!(model.count(), 0);
}
