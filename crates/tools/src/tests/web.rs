//! Servers behind a URL that keep to the protocol: listings, grants, approvals, sessions, credentials.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::config::{ToolLimits, ToolServerConfig};
use crate::tests::support::{
    VALUE, call, catalogue, in_events, in_json, mcp, quick, raw, response, run, soon, text_of,
    text_result, tool, web,
};
use crate::{ServedCallEnd, ToolApproval, ToolCallOrder, ToolError, ToolGrants};
use wardian_formats::skill::manifest::tool_pattern::{ToolGlob, ToolPattern};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::TenantId;

fn globs(texts: &[&str]) -> Vec<ToolGlob> {
    texts.iter().map(|text| ToolGlob::parse(text).unwrap()).collect()
}

#[tokio::test]
async fn tools_are_listed_and_called_within_a_session() {
    let server = mcp(
        || json!([tool("find"), tool("a b")]),
        |id, body| in_json(&text_result(id, &body["params"]["arguments"]["q"].to_string())),
    )
    .await;
    let catalogue = catalogue(quick(web(&server.url())));
    let tools = run(&catalogue);
    let offered = tools.offered(soon(), &CallMemory::unlimited()).await;
    assert!(offered.unavailable.is_empty(), "{:?}", offered.unavailable);
    let names: Vec<_> = offered.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["s.find"], "a name with a space is left out");
    let answer = call(&tools, "s.find", &json!({"q": 1.5})).await;
    assert_eq!(text_of(&answer), "\"1.5\"");
    assert_eq!(text_of(&call(&tools, "s.find", &json!({"q": 2})).await), "\"2\"");
    assert_eq!(server.asked("initialize").len(), 1);
    assert_eq!(server.asked("tools/list").len(), 1, "a listing is kept");
    let requests = server.requests.lock();
    let (head, _) = requests.iter().find(|(_, body)| body["method"] == "tools/call").unwrap();
    for expected in
        ["bearer hunter2-and-more", "mcp-session-id: s-1", "mcp-protocol-version: 2025-06-18"]
    {
        assert!(head.contains(expected), "{head}");
    }
    drop(requests);
    assert_eq!(ServedCallEnd::of(&answer), ServedCallEnd::Answered);
}

#[tokio::test]
async fn what_was_not_given_is_not_there() {
    let server = mcp(
        || json!([tool("find"), tool("find_all"), tool("drop"), tool("hidden")]),
        |id, _| in_json(&text_result(id, "done")),
    )
    .await;
    let config = ToolServerConfig {
        deny: globs(&["hid*"]),
        code: globs(&["find"]),
        tenants: Some([TenantId::local()].into()),
        ..quick(web(&server.url()))
    };
    let catalogue = catalogue(config);
    let skill = vec![ToolPattern::parse("s.find*").unwrap(), ToolPattern::parse("t.*").unwrap()];
    let skill = ToolGrants::Skill(skill);
    let acme = TenantId::parse("acme").unwrap();
    for (tenant, grants, expected) in [
        (TenantId::local(), skill.clone(), &["s.find", "s.find_all"][..]),
        (TenantId::local(), ToolGrants::Code, &["s.find"][..]),
        (TenantId::local(), ToolGrants::Operator, &["s.drop", "s.find", "s.find_all"][..]),
        (acme, skill, &[][..]),
    ] {
        let tools = catalogue.open(tenant, grants);
        let offered = tools.offered(soon(), &CallMemory::unlimited()).await;
        let names: Vec<_> = offered.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, expected);
        for name in ["s.find", "s.find_all", "s.drop", "s.hidden", "s.none", "t.find", "find", ""] {
            let called = call(&tools, name, &json!({})).await;
            if expected.contains(&name) {
                assert!(tools.is_named(name) && called.is_ok(), "{name}: {called:?}");
            } else {
                let message = called.unwrap_err().to_string();
                assert_eq!(message, format!("there is no tool `{name}`"));
            }
        }
    }
}

/// The test of the invariant; the one above is its proof for each way to lack a tool.
#[tokio::test]
async fn not_given_not_there_even_in_time_of_trouble() {
    let server = mcp(|| Value::Null, |id, _| in_json(&text_result(id, "done"))).await;
    let catalogue = catalogue(quick(web(&server.url())));
    let tools = catalogue.open(TenantId::local(), ToolGrants::Code);
    let called = call(&tools, "s.find", &json!({})).await.unwrap_err();
    assert_eq!(called.to_string(), "there is no tool `s.find`");
    assert!(server.requests.lock().is_empty(), "its server is not asked");
}

#[tokio::test]
async fn a_destructive_tool_needs_approved_arguments() {
    let destructive = || {
        let mut drop = tool("drop");
        drop["annotations"] = json!({"destructiveHint": true});
        json!([drop, tool("send"), tool("find")])
    };
    let server = mcp(destructive, |id, _| in_json(&text_result(id, "done"))).await;
    let approve = globs(&["send"]);
    let catalogue = catalogue(ToolServerConfig { approve, ..quick(web(&server.url())) });
    let tools = run(&catalogue);
    let offered = tools.offered(soon(), &CallMemory::unlimited()).await;
    let needs: Vec<_> = offered.tools.iter().map(|tool| tool.needs_approval).collect();
    assert_eq!(needs, [true, false, true], "drop, find, send");
    let (asked, other) = (raw(&json!({"id": 1})), raw(&json!({"id": 2})));
    for tool in ["s.drop", "s.send"] {
        let approval = ToolApproval::new(tool, &asked);
        let foreign = ToolApproval::new("s.find", &asked);
        for (arguments, approval, is_called) in [
            (&asked, None, false),
            (&other, Some(&approval), false),
            (&asked, Some(&foreign), false),
            (&asked, Some(&approval), true),
        ] {
            let order = ToolCallOrder { tool, arguments, listed: None, approval, deadline: soon() };
            let called = tools.call(order, &CallMemory::unlimited()).await;
            match called {
                Ok(_) => assert!(is_called),
                Err(error) => {
                    assert!(!is_called && matches!(error, ToolError::NeedsApproval { .. }));
                }
            }
        }
    }
    assert_eq!(server.asked("tools/call").len(), 2);
}

#[tokio::test]
async fn a_tool_that_changed_since_it_was_listed_is_not_called() {
    let listed = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&listed);
    let list = move || {
        let mut tool = tool("find");
        tool["description"] = counted.fetch_add(1, Ordering::SeqCst).into();
        tool["description"] = tool["description"].to_string().into();
        json!([tool])
    };
    // Each call tells of a change.
    let change = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    let server =
        mcp(list, move |id, _| in_events(&[change.clone(), text_result(id, "done")])).await;
    let catalogue = catalogue(quick(web(&server.url())));
    let tools = run(&catalogue);
    let offered = tools.offered(soon(), &CallMemory::unlimited()).await;
    let (digest, arguments) = (offered.tools[0].digest, raw(&json!({})));
    let order = ToolCallOrder {
        tool: "s.find",
        arguments: &arguments,
        listed: Some(digest),
        approval: None,
        deadline: soon(),
    };
    assert!(tools.call(order, &CallMemory::unlimited()).await.is_ok());
    let changed = tools.call(order, &CallMemory::unlimited()).await;
    assert!(matches!(changed, Err(ToolError::Changed { .. })), "{changed:?}");
    assert_eq!(server.asked("tools/call").len(), 1);
    assert_eq!(listed.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_forgotten_session_begins_anew() {
    let calls = AtomicUsize::new(0);
    let server = mcp(
        || json!([tool("find")]),
        move |id, _| match calls.fetch_add(1, Ordering::SeqCst) {
            0 => response("404 Not Found", "", ""),
            _ => in_json(&text_result(id, "done")),
        },
    )
    .await;
    let catalogue = catalogue(quick(web(&server.url())));
    assert_eq!(text_of(&call(&run(&catalogue), "s.find", &json!({})).await), "\"done\"");
    assert_eq!((server.asked("initialize").len(), server.asked("tools/call").len()), (2, 2));
}

#[tokio::test]
async fn credentials_stay_in_the_gateway() {
    let server = mcp(
        || json!([tool("find")]),
        |id, body| {
            let is_error = body["params"]["arguments"]["fail"] == true;
            let text = format!("you sent Bearer {VALUE}");
            if is_error {
                // The secret is where the message is cut off.
                let text = format!("you sent {}{VALUE}", "x".repeat(283));
                let error = json!({"code": -1, "message": text});
                return in_json(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
            in_json(&text_result(id, &text))
        },
    )
    .await;
    let catalogue = catalogue(quick(web(&server.url())));
    let tools = run(&catalogue);
    let told = text_of(&call(&tools, "s.find", &json!({})).await);
    assert!(told.contains("you sent Bearer ****") && !told.contains("hunter2"), "{told}");
    let failed = call(&tools, "s.find", &json!({"fail": true})).await.unwrap_err().to_string();
    assert!(failed.contains("you sent") && !failed.contains("hunter2"), "{failed}");
    assert!(!format!("{catalogue:?}").contains("hunter2"));
}

#[tokio::test]
async fn calls_have_bounds() {
    let server = mcp(|| json!([tool("find")]), |id, _| in_json(&text_result(id, "done"))).await;
    let config = quick(web(&server.url()));
    let arguments = wardian_vocabulary::units::ByteCount::bytes(20);
    let limits = ToolLimits { calls_per_run: 2, arguments, ..config.limits };
    let catalogue = catalogue(ToolServerConfig { limits, ..config });
    let tools = run(&catalogue);
    let large = call(&tools, "s.find", &json!({"a": "x".repeat(20)})).await.unwrap_err();
    assert!(large.to_string().contains("are larger than 20 bytes"), "{large}");
    for wrong in ["[]", "1", r#"{"a":1,"a":2}"#] {
        let arguments = serde_json::value::RawValue::from_string(wrong.to_owned()).unwrap();
        let order = ToolCallOrder {
            tool: "s.find",
            arguments: &arguments,
            listed: None,
            approval: None,
            deadline: soon(),
        };
        let refused = tools.call(order, &CallMemory::unlimited()).await;
        assert!(matches!(refused, Err(ToolError::Arguments { .. })), "{wrong}: {refused:?}");
    }
    for is_called in [true, true, false] {
        let called = call(&tools, "s.find", &json!({})).await;
        assert_eq!(called.is_ok(), is_called);
    }
    let other = call(&run(&catalogue), "s.find", &json!({})).await;
    assert!(other.is_ok(), "another run has calls of its own");
}
