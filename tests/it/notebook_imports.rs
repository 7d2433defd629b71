//! Sessions that are made of notebooks.

use serde_json::{Value, json};

use crate::support::{Command, TestServer, output};

fn cell(source: &str) -> Value {
    json!({"cell_type": "code", "metadata": {}, "outputs": [], "source": source})
}

fn notebook(cells: &[Value]) -> Value {
    json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
}

#[test]
fn the_cells_of_a_notebook_are_executed_up_to_the_first_one_that_fails() {
    let client = TestServer::shared().client();
    let skipped =
        json!({"cell_type": "code", "metadata": {"tags": ["skip-execution"]}, "source": "1 / 0"});
    let text = json!({"cell_type": "markdown", "metadata": {}, "source": ["# x"]});
    let sent = notebook(&[cell("x = 1"), text, skipped, cell("x += 1\n1 / 0"), cell("x += 1")]);
    let made = client.post_json("/v1/sessions?from=notebook&label=imported", &sent);
    assert_eq!(made.status, 201, "{made:?}");
    let answer = made.json();
    let id = answer["session"]["id"].as_str().unwrap();
    assert_eq!(made.header("location"), format!("/v1/sessions/{id}"));
    assert_eq!(answer["session"]["label"], "imported");
    let cells = answer["cells"].as_array().unwrap();
    let ends: Vec<_> = cells.iter().map(|cell| (&cell["place"], &cell["status"])).collect();
    assert_eq!(ends, [(&json!(1), &json!("completed")), (&json!(3), &json!("failed"))]);
    assert_eq!(cells[1]["error"]["type"], "ZeroDivisionError");
    assert_eq!(answer["stopped"], "cell 3 failed: ZeroDivisionError");
    let now = client.run_with("x", json!({"session": id}));
    assert_eq!(output(&now)["result"], 2, "what the failed cell did stays");
    client.delete(&format!("/v1/sessions/{id}"));

    let path = "/v1/sessions?from=notebook&allow_errors=true&seed=7";
    let all = client.post_json(path, &sent).json();
    let cells = all["cells"].as_array().map(Vec::len);
    assert_eq!((cells, &all["stopped"]), (Some(3), &Value::Null), "{all:#}");
    let id = all["session"]["id"].as_str().unwrap();
    let record = client.get(&format!("/v1/sessions/{id}/record")).json();
    assert_eq!(record["cells"][0]["run"]["inputs"]["seed"], 7, "{record:#}");
    client.delete(&format!("/v1/sessions/{id}"));
}

#[test]
fn what_is_no_notebook_makes_no_session() {
    let server = TestServer::start(&[]);
    let client = server.client();
    for (path, sent, expected) in [
        ("?from=notebook", json!([1]), "nbformat 4"),
        ("?from=notebook", json!({"nbformat": 3, "cells": []}), "nbformat 3"),
        (
            "?from=notebook",
            json!({"nbformat": 4, "cells": [], "metadata": {"kernelspec": {"language": "R"}}}),
            "a notebook of Python",
        ),
        ("?from=notebook&allow_errors=yes", notebook(&[]), "allow_errors"),
        ("?from=else", notebook(&[]), "from=notebook"),
        ("?label=x", json!({}), "from=notebook"),
    ] {
        let refused = client.post_json(&format!("/v1/sessions{path}"), &sent);
        assert_eq!(refused.status, 400, "{path}: {refused:?}");
        assert!(refused.message().contains(expected), "{path}: {refused:?}");
    }
    assert_eq!(client.get("/v1/sessions").json()["sessions"], json!([]));
}

#[test]
fn a_notebook_is_imported_from_the_command_line() {
    let (server, place) = (TestServer::start(&[]), Command::new());
    let url = format!("http://{}", server.address);
    place.file("a.ipynb", notebook(&[cell("x = 6"), cell("1 / 0"), cell("x *= 7")]).to_string());
    let stopped = place.run(&["sessions", "import", "a.ipynb", "--server", &url]).with(1);
    assert!(stopped.stdout.starts_with("ses_"), "{}", stopped.stdout);
    assert!(stopped.stderr.contains("cell 2: ZeroDivisionError"), "{}", stopped.stderr);
    let order = ["sessions", "import", "a.ipynb", "--allow-errors", "--json", "--server", &url];
    let all = place.run(&order).with(0).json();
    assert_eq!(all["cells"].as_array().unwrap().len(), 3, "{all:#}");
    let id = all["session"]["id"].as_str().unwrap();
    let now = server.client().run_with("x", json!({"session": id}));
    assert_eq!(output(&now)["result"], 42);
}
