//! The memory of the server that states of sessions take.

use std::thread;

use serde_json::json;

use crate::support::{TestServer, output};

#[test]
fn states_are_charged_until_their_interpreters_are_made_of_them() {
    let data = tempfile::tempdir().unwrap();
    // The states of all three are more than the memory, and each is less than half of it.
    let set = ["--set", "http.memory=32 MiB"];
    let server = TestServer::start_on(data.path(), &set);
    let client = server.client();
    let sessions = [(); 3].map(|()| {
        let code = "import os\ndata = os.urandom(10 << 20)\nlen(data)";
        let made = client.run_with(code, json!({"session": "new"}));
        assert_eq!(
            (&made["session"]["state"], &output(&made)["result"]),
            (&json!("kept"), &json!(10 << 20))
        );
        made["session"]["id"].as_str().unwrap().to_owned()
    });
    drop(server);
    let server = TestServer::start_on(data.path(), &set);
    thread::scope(|scope| {
        let cell = |session: &str| {
            let code = "import time\ntime.sleep(2)\nlen(data)";
            server.client().run_with(code, json!({"session": session}))
        };
        let cells = sessions.each_ref().map(|session| scope.spawn(move || cell(session)));
        for cell in cells {
            assert_eq!(output(&cell.join().unwrap())["result"], 10 << 20);
        }
    });
}
