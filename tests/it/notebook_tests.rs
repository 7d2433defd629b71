//! `wardian test NOTEBOOK`: notebooks whose outputs are compared with those of an execution.

use std::fs;

use serde_json::{Value, json};

use crate::support::Command;

/// A cell as a notebook has it.
fn cell(source: &str, tags: &[&str], outputs: Value) -> Value {
    json!({
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {"tags": tags},
        "outputs": outputs,
        "source": source.split_inclusive('\n').collect::<Vec<_>>(),
    })
}

fn stream(text: &str) -> Value {
    json!({"name": "stdout", "output_type": "stream", "text": [text]})
}

fn value(text: &str) -> Value {
    let data = json!({"text/plain": [text]});
    json!({"data": data, "execution_count": 1, "metadata": {}, "output_type": "execute_result"})
}

/// The text of a notebook, as Jupyter writes it.
fn notebook(cells: Vec<Value>) -> String {
    let title = json!({"cell_type": "markdown", "metadata": {}, "source": ["# Title"]});
    let cells: Vec<Value> = std::iter::once(title).chain(cells).collect();
    let whole = json!({
        "cells": cells,
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    });
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut writer = serde_json::Serializer::with_formatter(&mut text, formatter);
    serde::Serialize::serialize(&whole, &mut writer).unwrap();
    String::from_utf8(text).unwrap() + "\n"
}

fn outcomes(results: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let tests = results["tests"].as_array().unwrap();
    tests.iter().map(|test| (text(&test["id"]), text(&test["outcome"]))).collect()
}

const PICTURE: &str = "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])";

#[test]
fn outputs_are_compared_and_updated_in_their_places() {
    let place = Command::new();
    place.file("data/numbers.csv", "n\n1\n2\n");
    place.file("helper.py", "ANSWER = 42\n");
    let html = "class T:\n    def _repr_html_(self): return '<b>1</b>'\n    def __repr__(self): return 'T()'\nT()";
    let file = place.file(
        "analysis.ipynb",
        notebook(vec![
            cell(
                "import helper\nprint('hello')\nhelper.ANSWER",
                &[],
                json!([stream("hello\n"), value("42")]),
            ),
            cell("open('data/numbers.csv').read()", &[], json!([value("'n\\n1\\n2\\n'")])),
            cell("import random, time\nrandom.random(), time.time()", &[], json!([value("old")])),
            cell(html, &[], json!([value("T()")])),
            cell("1 / 0", &["raises-exception"], json!([])),
            cell("print(id(object()))", &["nbval-ignore-output"], json!([stream("1\n")])),
            cell("raise SystemError", &["skip-execution"], json!([])),
            cell(PICTURE, &[], json!([])),
            cell("'last'", &[], json!([value("'last'")])),
        ]),
    );
    let before = fs::read_to_string(&file).unwrap();
    let ended = place.run(&["test", "analysis.ipynb", "--json"]).with(1).json();
    let expected =
        ["passed", "passed", "failed", "failed", "failed", "passed", "skipped", "failed", "passed"];
    let ends: Vec<String> = outcomes(&ended).into_iter().map(|(_, end)| end).collect();
    assert_eq!(ends, expected, "{ended:#}");
    assert_eq!(ended["tests"][0]["id"], "analysis.ipynb::cell 1");
    let differs = &ended["tests"][2];
    assert!(differs["details"].to_string().contains("text/plain of the value"), "{differs:#}");
    assert!(ended["tests"][3]["message"].to_string().contains("text/html"), "{ended:#}");
    assert!(ended["tests"][4]["message"].to_string().contains("ZeroDivisionError"), "{ended:#}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before, "nothing was written");

    let updated = place.run(&["test", "analysis.ipynb", "--update", "--json"]).with(0).json();
    assert_eq!(updated["updated"], 4, "{updated:#}");
    let after = fs::read_to_string(&file).unwrap();
    let parsed: Value = serde_json::from_str(&after).unwrap();
    assert_eq!(parsed["cells"][4]["outputs"][0]["data"]["text/html"], json!(["<b>1</b>"]));
    assert_eq!(parsed["cells"][5]["outputs"][0]["ename"], "ZeroDivisionError");
    assert!(parsed["cells"][8]["outputs"][0]["data"]["image/png"].as_str().unwrap().len() > 1_000);
    // All else has the bytes that it had.
    assert!(after.starts_with(&before[..before.find("old").unwrap()]) && after.ends_with("5\n}\n"));
    let same = place.run(&["test", "analysis.ipynb", "--junit", "report.xml"]).with(0);
    assert!(same.stdout.contains("8 passed, 0 failed, 1 skipped"), "{}", same.stdout);
    let report = fs::read_to_string(place.folder().join("report.xml")).unwrap();
    assert!(report.contains("analysis.ipynb") && report.contains("cell 9"), "{report}");
    // The report is no file that the cells could see.
    let cached = place.run(&["test", "analysis.ipynb", "--junit", "report.xml"]).with(0);
    assert!(cached.stdout.contains("9 cached"), "{}", cached.stdout);
}

#[test]
fn an_exception_that_nobody_expects_ends_the_notebook() {
    let place = Command::new();
    let cells = vec![cell("x = 1\n1 / 0", &[], json!([])), cell("x", &[], json!([value("1")]))];
    place.file("a.ipynb", notebook(cells));
    let ended = place.run(&["test", "a.ipynb", "--update", "--json"]).with(1).json();
    let ends: Vec<String> = outcomes(&ended).into_iter().map(|(_, end)| end).collect();
    assert_eq!(ends, ["failed", "error"], "{ended:#}");
    assert!(ended["tests"][1]["message"].to_string().contains("cell 1 raised"), "{ended:#}");
    let frame = ended["tests"][0]["details"][1].as_str().unwrap();
    assert!(frame.contains("File \"<cell 1>\", line 2"), "{frame}");
    // Folders are searched for notebooks if that is asked for.
    place.run(&["test", "."]).with(2);
    let found = place.run(&["test", ".", "--notebooks", "--list"]).with(0);
    assert_eq!(found.stdout, "a.ipynb::cell 1\na.ipynb::cell 2\n");
    place.file("b.ipynb", "{}");
    let refused = place.run(&["test", "b.ipynb"]).with(2);
    assert!(refused.stderr.contains("is not a notebook"), "{}", refused.stderr);
}
