//! The published clients of models, which stand on pydantic: a skill reaches the service that its manifest
//! names, through the gateway, and nothing else.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

use crate::network::{granted, through_proxy};
use crate::packages::batteries;
use crate::support::{Command, SkillFolder, TestServer, output};

/// A service that speaks both interfaces. Returns its address.
fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || answer(stream.unwrap()));
        }
    });
    format!("http://model.test:{}", address.port())
}

/// Answers the requests of one connection until its client leaves.
fn answer(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while reader.read_line(&mut head).is_ok_and(|read| read > 2) {
            let line = head.lines().last().unwrap_or_default().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        if head.is_empty() {
            return;
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (status, kind, text) = reply(head.contains("/v1/messages"), &asked);
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn reply(is_messages: bool, asked: &Value) -> (&'static str, &'static str, String) {
    if asked["model"] == "none" {
        let error = json!({"error": {"type": "not_found_error", "message": "no such model"}});
        return ("404 Not Found", "application/json", error.to_string());
    }
    if asked["stream"] == true {
        let text = if is_messages { message_events() } else { completion_events() };
        return ("200 OK", "text/event-stream", text);
    }
    let answer = if is_messages {
        message(&json!([{"type": "text", "text": "hello"}]))
    } else {
        let is_parsed = asked["response_format"].is_object();
        let text = if is_parsed { r#"{"name": "Ann", "age": "7"}"# } else { "hello" };
        let message = json!({"role": "assistant", "content": text});
        let choice = json!({"index": 0, "finish_reason": "stop", "message": message});
        json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [choice]})
    };
    ("200 OK", "application/json", answer.to_string())
}

fn message(content: &Value) -> Value {
    json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 2}})
}

fn message_events() -> String {
    let delta = |text: &str| {
        let delta = json!({"type": "text_delta", "text": text});
        json!({"type": "content_block_delta", "index": 0, "delta": delta})
    };
    let block = json!({"type": "text", "text": ""});
    let events = [
        json!({"type": "message_start", "message": message(&json!([]))}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        delta("a"),
        delta("b"),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_stop"}),
    ];
    let event = |data: &Value| {
        let name = data["type"].as_str().unwrap();
        format!("event: {name}\ndata: {data}\n\n")
    };
    events.iter().map(event).collect()
}

fn completion_events() -> String {
    let chunk = |text: &str| {
        let choice = json!({"index": 0, "delta": {"content": text}});
        let data = json!({"id": "c", "object": "chat.completion.chunk", "created": 1,
            "model": "m", "choices": [choice]});
        format!("data: {data}\n\n")
    };
    format!("{}{}data: [DONE]\n\n", chunk("a"), chunk("b"))
}

const CALLER: &str = r#"
import asyncio
import anthropic, openai
from pydantic import BaseModel

class Person(BaseModel):
    name: str
    age: int

def main(args):
    url, asked = args["url"], {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    chat = openai.OpenAI(api_key="k", base_url=url + "/v1", max_retries=0).chat.completions
    found = [chat.create(**asked).choices[0].message.content]
    found.append("".join(one.choices[0].delta.content for one in chat.create(stream=True, **asked)))
    found.append(chat.parse(response_format=Person, **asked).choices[0].message.parsed.model_dump())
    try:
        chat.create(**{**asked, "model": "none"})
    except openai.NotFoundError as error:
        found.append(error.status_code)
    claude = anthropic.Anthropic(api_key="k", base_url=url, max_retries=0).messages
    found.append(claude.create(max_tokens=9, **asked).content[0].text)
    with claude.stream(max_tokens=9, **asked) as stream:
        found.append("".join(stream.text_stream))

    async def both():
        one = openai.AsyncOpenAI(api_key="k", base_url=url + "/v1").chat.completions.create(**asked)
        other = anthropic.AsyncAnthropic(api_key="k", base_url=url).messages.create(max_tokens=9, **asked)
        one, other = await asyncio.gather(one, other)
        return [one.choices[0].message.content, other.content[0].text]

    found += asyncio.run(both())
    refused = []
    for client in (openai.OpenAI, anthropic.Anthropic):
        try:
            client(api_key="k", max_retries=0).models.list()
        except (openai.APIConnectionError, anthropic.APIConnectionError) as error:
            refused.append(str(error.__cause__))
    return [found, refused]
"#;

#[test]
fn clients_of_models_reach_the_service_that_they_are_granted() {
    batteries();
    let (url, skills) = (service(), SkillFolder::new());
    granted(&skills, "acme.caller", std::slice::from_ref(&url), CALLER);
    skills.file("acme.caller/code/requirements.txt", "openai==3.57.0\nanthropic==2.14.0\n");
    let (command, folder) = (Command::new(), skills.at("acme.caller"));
    let lock = ["skills", "deps", "lock", folder.to_str().unwrap(), "--json"];
    let ended = command.run(&lock);
    if ended.stderr.contains("cannot be reached") {
        eprintln!(
            "openai and anthropic were not tried: the registry of packages cannot be reached"
        );
        return;
    }
    let locked = ended.with(0).json();
    let named = |list: &str, name: &str| {
        locked[list].as_array().unwrap().iter().any(|one| one["name"] == name)
    };
    assert!(named("batteries", "pydantic") && !named("packages", "pydantic"), "{locked:#}");
    assert!(named("engine", "jiter") && named("packages", "openai"), "{locked:#}");
    let server = TestServer::start(&[&through_proxy()[..], &["--skills", skills.path()]].concat());
    let call = json!({"name": "acme.caller", "args": {"url": url}, "timeout_ms": 120_000});
    let result = server.client().call("execute_skill", call).unwrap();
    let found = &output(&result)["result"];
    let person = json!({"name": "Ann", "age": 7});
    let expected = json!(["hello", "ab", person, 404, "hello", "ab", "hello", "hello"]);
    assert_eq!(found[0], expected, "{result:#}");
    for (refused, host) in found[1].as_array().unwrap().iter().zip(["openai", "anthropic"]) {
        let wanted = format!("network = [\"https://api.{host}.com\"]");
        assert!(refused.as_str().unwrap().contains(&wanted), "{refused}");
    }
}
