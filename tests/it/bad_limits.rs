//! Invalid limits: each is refused before anything runs, with a helpful message.

use serde_json::{Value, json};

use crate::support::{Client, TestServer, output};

/// Largest values that a caller can ask for where the operator has set nothing. Fuel has none.
const CAPS: [(&str, u64, u64); 4] = [
    ("timeout_ms", 1, 300_000),
    ("memory_bytes", 0, 512 << 20),
    ("workspace_bytes", 4_096, 256 << 20),
    ("host_calls", 1, 10_000),
];

/// A call of `run_code` with this text as its limits, which need not be JSON.
fn call_with(limits: &str) -> String {
    let params = format!(r#"{{"language":"python","code":"","limits":{limits}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"run_code","params":{params}}}"#)
}

/// The code, the message and the parameter of the error that the call must get.
fn refusal(client: &Client, call: &str) -> (i64, String, Value) {
    let answer = client.post(call).json();
    let error = answer.get("error").unwrap_or_else(|| panic!("{call} was not refused: {answer}"));
    let message = error["message"].as_str().unwrap().to_owned();
    (error["code"].as_i64().unwrap(), message, error["data"]["parameter"].clone())
}

/// How many runs the server has had.
fn runs_of(server: &TestServer) -> usize {
    // The self-test has runs, too; the log may be behind what is printed.
    server.wait_for_log("ready after");
    server.log().lines().filter(|line| line.contains("run `run_")).count()
}

/// The smallest memory limit of a run: the size of the image, which only the server knows.
fn least_memory(client: &Client) -> u64 {
    let (_, message, _) = refusal(client, &call_with(r#"{"memory_bytes":1}"#));
    let least = message.split(' ').nth(7).unwrap().parse::<u64>().unwrap();
    let expected = format!(
        "parameter `limits.memory_bytes` must be an integer between {least} and 536870912, got 1"
    );
    assert_eq!(message, expected);
    least
}

#[test]
fn a_limit_that_is_no_number_of_that_kind_is_refused_before_anything_runs() {
    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0"]);
    let (client, runs) = (server.client(), runs_of(&server));
    for limit in ["timeout_ms", "fuel", "memory_bytes", "workspace_bytes", "host_calls"] {
        let parameter = format!("limits.{limit}");
        for (value, shown) in [
            ("0", "0"),
            ("-0", "-0"),
            ("0.0", "0.0"),
            ("-1", "-1"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("1.5", "1.5"),
            ("1e-3", "1e-3"),
            ("1e300", "1e300"),
            (r#""300000""#, r#""300000""#),
            (r#""NaN""#, r#""NaN""#),
            ("true", "true"),
            ("[1]", "an array of 1"),
            (r#"{"value":1}"#, "an object"),
        ] {
            let refused = refusal(&client, &call_with(&format!(r#"{{"{limit}":{value}}}"#)));
            let message =
                format!("parameter `{parameter}` must be an integer of at least 1, got {shown}");
            assert_eq!(refused, (-32602, message, parameter.as_str().into()));
        }
        for huge in ["18446744073709551616", "1e400"] {
            let refused = refusal(&client, &call_with(&format!(r#"{{"{limit}":{huge}}}"#)));
            let message = format!(
                "the number at `params.{parameter}` does not fit into 64 bits; send it as a string"
            );
            assert_eq!(refused, (-32600, message, Value::Null));
        }
        for text in ["NaN", "Infinity", "0x10", "1_000", "+1", "01"] {
            let refused = refusal(&client, &call_with(&format!(r#"{{"{limit}":{text}}}"#)));
            assert_eq!(refused.0, -32700, "{limit} {text}: {refused:?}");
        }
    }
    assert_eq!(runs_of(&server), runs, "a run was begun");
}

#[test]
fn a_limit_beyond_its_range_is_refused_with_key_and_range_and_value() {
    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0"]);
    let (client, runs) = (server.client(), runs_of(&server));
    for (limit, least, most) in CAPS {
        let least = if limit == "memory_bytes" { least_memory(&client) } else { least };
        let below = least.checked_sub(1).filter(|below| *below > 0);
        let values = [below, Some(most + 1), Some(1 << 63), Some(u64::MAX)];
        let huge = ["1e18".to_owned(), "1000000000000000000.0".to_owned()];
        for value in values.into_iter().flatten().map(|value| value.to_string()).chain(huge) {
            let refused = refusal(&client, &call_with(&format!(r#"{{"{limit}":{value}}}"#)));
            let shown = value.parse::<u64>().unwrap_or(1_000_000_000_000_000_000);
            let message = format!(
                "parameter `limits.{limit}` must be an integer between {least} and {most}, \
                 got {shown}"
            );
            assert_eq!(refused, (-32602, message, format!("limits.{limit}").into()));
        }
    }
    assert_eq!(runs_of(&server), runs, "a run was begun");
}

#[test]
fn a_timeout_is_called_as_its_caller_has_called_it() {
    let client = TestServer::shared().client();
    for (method, params) in [
        ("run_code", json!({"language": "python", "code": ""})),
        ("execute_skill", json!({"name": "acme.echo"})),
    ] {
        for (place, limits) in [
            ("timeout_ms", json!({"timeout_ms": 300_001})),
            ("limits.timeout_ms", json!({"limits": {"timeout_ms": 300_001}})),
            (
                "limits.timeout_ms",
                json!({"timeout_ms": 300_001, "limits": {"timeout_ms": 300_001}}),
            ),
        ] {
            let mut params = params.clone();
            params.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
            let refused = client.refusal(method, params);
            let message =
                format!("parameter `{place}` must be an integer between 1 and 300000, got 300001");
            assert_eq!((refused.message, &refused.data["parameter"]), (message, &place.into()));
        }
        let mut params = params;
        params["timeout_ms"] = json!(-1);
        let refused = client.refusal(method, params);
        let message = "parameter `timeout_ms` must be an integer of at least 1, got -1";
        assert_eq!(refused.message, message, "{method}");
    }
}

#[test]
fn a_limit_that_is_null_is_not_asked_for() {
    let client = TestServer::shared().client();
    for limit in ["timeout_ms", "fuel", "memory_bytes", "workspace_bytes", "host_calls"] {
        let result = client.run_with("def main(args): return 1", json!({"limits": {limit: null}}));
        assert_eq!(output(&result)["result"], 1, "{limit}");
    }
}

#[test]
fn the_self_test_does_not_depend_on_small_limits_of_the_operator() {
    let small = [
        "limits.timeout=1 ms",
        "limits.max.timeout=20 ms",
        "limits.memory=64 MiB",
        "limits.workspace=0",
        "limits.workspace_entries=0",
        "limits.open_files=8",
        "limits.logs=0",
        "limits.host_calls=1",
        "limits.host_bytes=0",
    ];
    let options: Vec<&str> = small.iter().flat_map(|setting| ["--set", setting]).collect();
    let server = TestServer::start(&options);
    assert_eq!(server.client().get("/readyz").status, 200);
}

#[test]
fn the_least_of_every_limit_is_enough_to_start_with() {
    let client = TestServer::shared().client();
    let code = "
def main(args):
    with open('file', 'w') as file: file.write('x' * 1000)
    with open('file') as file: return len(file.read())
";
    let least = least_memory(&client);
    for (limit, value) in [("memory_bytes", least), ("workspace_bytes", 4_096), ("host_calls", 1)] {
        let result = client.run_with(code, json!({"limits": {limit: value}}));
        assert_eq!(output(&result)["result"], 1_000, "{limit}");
    }
    let fuel = json!({"language": "python", "code": code, "limits": {"fuel": 1_000_000}});
    match client.call("run_code", fuel) {
        // The interpreter itself starts; how far the program comes is its own affair.
        Ok(result) => assert!(result["fuel"].as_u64().unwrap() > 100_000, "{result}"),
        // Not yet: the code that counts is being compiled.
        Err(refused) => assert_eq!(refused.data["kind"], "overloaded", "{refused:?}"),
    }
}

#[test]
fn fuel_that_does_not_reach_the_first_line_is_refused() {
    let client = TestServer::shared().client();
    let params = json!({"language": "python", "code": "", "limits": {"fuel": 999_999}});
    let refused = client.refusal("run_code", params);
    assert_eq!(refused.data["parameter"], "limits.fuel");
    let expected = "parameter `limits.fuel` must be an integer of at least 1000000, got 999999";
    assert_eq!(refused.message, expected);
}

#[test]
fn ceilings_of_an_operator_are_named_in_refusals() {
    let settings = [
        ("limits.max.timeout=45 s", "timeout_ms", 45_000),
        ("limits.max.memory=600 MiB", "memory_bytes", 600 << 20),
        ("limits.max.workspace=300 MiB", "workspace_bytes", 300 << 20),
        ("limits.max.host_calls=20000", "host_calls", 20_000),
    ];
    let mut arguments = vec!["--workers", "1", "--set", "workers.spares=0"];
    arguments.extend(settings.iter().flat_map(|(setting, ..)| ["--set", setting]));
    let server = TestServer::start(&arguments);
    let client = server.client();
    for (_, limit, cap) in settings {
        let (code, message, parameter) =
            refusal(&client, &call_with(&format!(r#"{{"{limit}":{}}}"#, cap + 1)));
        assert_eq!((code, parameter), (-32602, format!("limits.{limit}").into()));
        let range = format!(" and {cap}, got {}", cap + 1);
        assert!(message.ends_with(&range), "{message}");
        let result = client.run_with("def main(args): return 1", json!({"limits": {limit: cap}}));
        assert_eq!(output(&result)["result"], 1, "{limit}");
    }
}
