//! Sessions that have gone back, as lists of cells and as notebooks: what is executed gives the state.

use serde_json::{Value, json};

use crate::support::{Client, TestServer, output};

/// A session of one client.
struct Session<'a> {
    client: &'a Client,
    id: String,
}

impl Session<'_> {
    fn begin<'a>(client: &'a Client, code: &str) -> Session<'a> {
        let first = client.run_with(code, json!({"session": "new"}));
        let id = first["session"]["id"].as_str().unwrap().to_owned();
        Session { client, id }
    }

    fn cell(&self, code: &str) -> Value {
        self.client.run_with(code, json!({"session": self.id}))
    }

    fn checkpoint(&self, code: &str) -> Value {
        self.cell(code)["session"]["checkpoint"].clone()
    }

    fn value(&self, code: &str) -> Value {
        output(&self.cell(code))["result"].clone()
    }

    fn path(&self, more: &str) -> String {
        format!("/v1/sessions/{}{more}", self.id)
    }

    fn post(&self, more: &str, body: &Value, status: u16) -> Value {
        let answer = self.client.post_json(&self.path(more), body);
        assert_eq!(answer.status, status, "{answer:?}");
        answer.json()
    }

    fn notebook(&self) -> Value {
        self.client.get(&self.path("/notebook")).json()
    }

    /// A session of the notebook of this one.
    fn executed(&self) -> Session<'_> {
        let path = "/v1/sessions?from=notebook";
        let made = self.client.post_json(path, &self.notebook());
        assert_eq!(made.status, 201, "{made:?}");
        let made = made.json();
        assert_eq!(made["stopped"], Value::Null, "{made:#}");
        Session { client: self.client, id: made["session"]["id"].as_str().unwrap().to_owned() }
    }
}

#[test]
fn a_notebook_leads_to_the_state_that_its_session_has() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "x = [1]");
    let first = session.checkpoint("x.append(2)");
    session.cell("x.append(3)");
    session.post("/restore", &json!({"checkpoint": first}), 200);
    let stuck = "x.append(4)\nwhile True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass";
    let stopped = client.run_with(stuck, json!({"session": session.id, "timeout_ms": 300}));
    assert_eq!(stopped["session"]["state"], "rolled_back", "{stopped:#}");
    session.cell("x.append(5)");

    let cells = client.get(&session.path("/cells")).json();
    let cells = cells["cells"].as_array().unwrap();
    let left: Vec<bool> = cells.iter().map(|cell| cell["left"] == true).collect();
    assert_eq!(left, [false, false, true, false, false], "{cells:#?}");
    assert_eq!(session.value("x"), json!([1, 2, 5]));
    let again = session.executed();
    assert_eq!(again.value("x"), json!([1, 2, 5]));

    // It can go back to what it has left.
    let third = cells[2]["checkpoint"].clone();
    session.post("/restore", &json!({"checkpoint": third}), 200);
    let page = client.get(&session.path("/cells?after=2&limit=3")).json();
    let left: Vec<bool> =
        page["cells"].as_array().unwrap().iter().map(|cell| cell["left"] == true).collect();
    assert_eq!(left, [false, false, true], "{page:#}");
    for session in [&session, &again] {
        client.delete(&session.path(""));
    }
}

#[test]
fn the_notebook_of_a_fork_begins_with_the_cells_before_it() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "x = [1]");
    session.cell("x.append(2)");
    session.post("/checkpoints", &json!({"name": "two"}), 200);
    session.cell("x.append(3)");
    let made = session.post("/fork", &json!({"checkpoint": "two"}), 201);
    let id = made["forks"][0]["id"].as_str().unwrap().to_owned();
    let fork = Session { client: &client, id };
    fork.cell("x.append(4)");
    let again = fork.executed();
    assert_eq!(again.value("x"), json!([1, 2, 4]));

    client.delete(&session.path(""));
    let notebook = fork.notebook();
    assert_eq!(notebook["metadata"]["wardian"]["missing_up_to_cell"], 2, "{notebook:#}");
    assert_eq!(notebook["cells"][0]["cell_type"], "markdown");
    assert_eq!(notebook["cells"][1]["source"], "x.append(4)");
    for session in [&fork, &again] {
        client.delete(&session.path(""));
    }
}

#[test]
fn a_name_is_that_of_one_checkpoint() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "x = 1");
    let first = session.post("/checkpoints", &json!({"name": "start"}), 200);
    let second = session.checkpoint("x = 2");
    let taken = client.post_json(&session.path("/checkpoints"), &json!({"name": "start"}));
    assert_eq!(taken.status, 409, "{taken:?}");
    assert!(taken.message().contains(first["id"].as_str().unwrap()), "{taken:?}");
    let as_id = json!({"name": second});
    let refused = client.post_json(&session.path("/checkpoints"), &as_id);
    assert_eq!(refused.status, 400, "{refused:?}");

    let back = session.post("/restore", &json!({"checkpoint": "start"}), 200);
    assert_eq!(back["checkpoint"], first["id"]);
    assert_eq!(session.value("x"), 1);
    let unknown = client.post_json(&session.path("/restore"), &json!({"checkpoint": "end"}));
    assert_eq!(unknown.status, 404, "{unknown:?}");
    let removed = client.delete(&session.path("/checkpoints/start"));
    assert_eq!(removed.status, 204, "{removed:?}");
    client.delete(&session.path(""));
}
