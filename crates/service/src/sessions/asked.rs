//! What cells ask of their callers: the tools that a call declares, the requests of a cell that waits, and
//! the answers to them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::error::ServiceError;
use crate::run::result::output::in_one_line;
use wardian_formats::job::session::asking::{CallerRequest, CallerRequests, JsonText};
use wardian_formats::protocol::members::Sort;
use wardian_formats::protocol::methods::asking::{
    AnswerParam, AskedKind, AskedRequest, ToolDeclaration,
};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_formats::protocol::strict::{self, RootKind};

/// Names of the guest's module, which no tool can have.
const RESERVED: [&str; 3] = ["ToolError", "getpass", "input"];

/// Most bytes of all declarations of a call as JSON.
const MAX_DECLARED: usize = 1 << 20;

/// The tools that the program of a cell may call.
#[derive(Debug, Clone, Default)]
pub(crate) struct CalledTools {
    /// Their declarations for the guest; `None` if it has them, or if there are none.
    pub(crate) declared: Option<JsonText>,
    /// Their names.
    pub(crate) names: BTreeSet<String>,
}

impl CalledTools {
    /// The tools that a call declares.
    ///
    /// # Errors
    ///
    /// Two of them have one name in the program, one has a name of the program's own module, or they are
    /// too long.
    pub(crate) fn of(declared: &[ToolDeclaration]) -> Result<Self, ServiceError> {
        let mut identifiers: BTreeSet<String> = RESERVED.map(str::to_owned).into();
        for (index, tool) in declared.iter().enumerate() {
            if !identifiers.insert(identifier(&tool.name)) {
                let expected = "a name that no other tool has in Python, where `_` stands for other \
                                signs, and that is not `input`, `getpass` or `ToolError`";
                let parameter = format!("tools[{index}].name");
                return Err(ParamsError::wrong(&parameter, expected, tool.name.clone()).into());
            }
        }
        let text = to_raw_value(declared).map_err(ServiceError::Unserialisable)?;
        if text.get().len() > MAX_DECLARED {
            let expected = format!("declarations of at most {MAX_DECLARED} bytes");
            let found = format!("{} bytes", text.get().len());
            return Err(ParamsError::wrong("tools", expected, found).into());
        }
        let names = declared.iter().map(|tool| tool.name.clone()).collect();
        Ok(Self { declared: Some(JsonText::new(text)), names })
    }
}

/// The name of a tool in the program, as `identifier` in `wasm/guest/_wardian/asking.py` makes it.
fn identifier(name: &str) -> String {
    name.replace(|sign: char| !sign.is_ascii_alphanumeric(), "_")
}

/// What a cell has asked, as the row of a cell that waits keeps it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AskedCell {
    /// The names of the tools that it may call.
    tools: BTreeSet<String>,
    /// The number and the kind of each request.
    requests: Vec<(u32, AskedKind)>,
}

impl AskedCell {
    /// What a cell has asked that may call these tools.
    ///
    /// # Errors
    ///
    /// A tool that was not declared, or arguments that parsers of JSON would read differently. Only a
    /// program that makes host calls by itself asks so.
    pub(crate) fn of(requests: &CallerRequests, tools: &BTreeSet<String>) -> Result<Self, String> {
        for tool in requests.all.iter().filter_map(|request| request.tool.as_ref()) {
            if !tools.contains(&tool.name) {
                let name = &tool.name;
                return Err(format!(
                    "the program asked for the tool `{name}`, which its call has not declared"
                ));
            }
            // All parsers must read them alike, as the output of a program.
            if strict::read_output(tool.arguments.as_str()).ok() != Some(RootKind::Object) {
                let name = &tool.name;
                return Err(format!(
                    "the program called the tool `{name}` with arguments that have no single meaning"
                ));
            }
        }
        let requests = requests.all.iter().map(|request| (request.number, kind_of(request)));
        Ok(Self { tools: tools.clone(), requests: requests.collect() })
    }

    /// Bytes that it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let names = self.tools.iter().map(String::len).fold(0, usize::saturating_add);
        names.saturating_add(size_of_val(self.requests.as_slice()))
    }

    /// The tools that the cell may go on to call: those that a call declares, or those that it could before.
    pub(crate) fn tools_with(
        &self,
        declared: Option<&[ToolDeclaration]>,
    ) -> Result<CalledTools, ServiceError> {
        match declared {
            Some(declared) => CalledTools::of(declared),
            None => Ok(CalledTools { declared: None, names: self.tools.clone() }),
        }
    }

    /// The answers for the guest, one to each request of the cell of this number.
    ///
    /// # Errors
    ///
    /// An answer to something else, two answers to one request, an answer that is both output and error or
    /// no line of text, or a request without an answer.
    pub(crate) fn answered(
        &self,
        cell: u32,
        answers: Vec<AnswerParam>,
    ) -> Result<JsonText, ServiceError> {
        let mut open: Vec<(String, u32, AskedKind)> = self
            .requests
            .iter()
            .map(|(number, kind)| (id_of(cell, *number), *number, *kind))
            .collect();
        let mut seen = BTreeSet::new();
        let mut for_guest = Vec::with_capacity(answers.len());
        for (index, answer) in answers.into_iter().enumerate() {
            let place = |member: &str| format!("answers[{index}]{member}");
            let AnswerParam { id, output, error } = answer;
            let Some(at) = open.iter().position(|(known, ..)| *known == id) else {
                let found = shortened(&id);
                if seen.contains(&id) {
                    return Err(
                        ParamsError::Repeated { parameter: place(".id"), item: found }.into()
                    );
                }
                let expected = match open.first() {
                    Some((known, ..)) => {
                        format!("the id of a request that waits, such as `{known}`")
                    }
                    None => "left out: all requests have an answer".to_owned(),
                };
                return Err(ParamsError::wrong(&place(".id"), expected, found).into());
            };
            let (_, number, kind) = open.swap_remove(at);
            seen.insert(id);
            if output.is_some() && error.is_some() {
                let expected = "an `output` or an `error`";
                return Err(ParamsError::wrong(&place(""), expected, "both").into());
            }
            let is_text = |output: &RawValue| Sort::of(output) == Sort::Text;
            if kind == AskedKind::Input && output.as_deref().is_some_and(|output| !is_text(output))
            {
                let expected = "a string: the request is for a line of text";
                return Err(ParamsError::wrong(&place(".output"), expected, "other JSON").into());
            }
            for_guest.push(GuestAnswer { number, output, error });
        }
        open.sort_unstable_by_key(|(_, number, _)| *number);
        if let Some((missing, ..)) = open.first() {
            let expected = format!("an answer to each request; that to `{missing}` is missing");
            let found = format!("{} answers", for_guest.len());
            return Err(ParamsError::wrong("answers", expected, found).into());
        }
        let text = to_raw_value(&for_guest).map_err(ServiceError::Unserialisable)?;
        Ok(JsonText::new(text))
    }

    /// An interrupt in the place of the answers: the guest raises it once.
    ///
    /// # Errors
    ///
    /// It cannot be written as JSON.
    pub(crate) fn interrupted(&self) -> Result<JsonText, ServiceError> {
        let interrupts = self
            .requests
            .iter()
            .map(|(number, _)| GuestInterrupt { number: *number, interrupt: true });
        let interrupts: Vec<GuestInterrupt> = interrupts.collect();
        let text = to_raw_value(&interrupts).map_err(ServiceError::Unserialisable)?;
        Ok(JsonText::new(text))
    }
}

/// An answer as the guest gets it.
#[derive(Serialize)]
struct GuestAnswer {
    number: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The interrupt of a request, as the guest gets it.
#[derive(Serialize)]
struct GuestInterrupt {
    number: u32,
    interrupt: bool,
}

/// The requests of the cell of this number, as its caller sees them.
pub(crate) fn shown(cell: u32, requests: CallerRequests) -> Vec<AskedRequest> {
    let show = |request: CallerRequest| {
        let (id, kind) = (id_of(cell, request.number), kind_of(&request));
        let (name, arguments) =
            request.tool.map(|tool| (tool.name, one_line(tool.arguments))).unzip();
        let (prompt, hidden) = request.input.map(|line| (line.prompt, line.hidden)).unzip();
        let (arguments, hidden) = (arguments.flatten(), hidden.unwrap_or(false));
        AskedRequest { id, kind, name, arguments, prompt, hidden }
    };
    requests.all.into_iter().map(show).collect()
}

/// Arguments without line breaks, which could end an event of the answer.
fn one_line(arguments: JsonText) -> Option<Box<RawValue>> {
    let text = in_one_line(String::from(Box::<str>::from(arguments.into_raw())))?;
    RawValue::from_string(text).ok()
}

/// One sentence that says what a cell waits for.
pub(crate) fn summary_of(requests: &[AskedRequest]) -> String {
    let named = requests.iter().filter_map(|request| request.name.as_deref());
    let names: BTreeSet<&str> = named.collect();
    let few: Vec<&str> = names.iter().copied().take(3).collect();
    let more = if names.len() > few.len() { ", ..." } else { "" };
    match (requests.len(), few.is_empty()) {
        (1, true) => "Waits for a line of text.".to_owned(),
        (count, true) => format!("Waits for {count} lines of text."),
        (1, false) => format!("Waits for an answer of {}.", few.join(", ")),
        (count, false) => format!("Waits for {count} answers, of {}{more}.", few.join(", ")),
    }
}

/// The id of a request.
fn id_of(cell: u32, number: u32) -> String {
    format!("c{cell}-r{number}")
}

const fn kind_of(request: &CallerRequest) -> AskedKind {
    if request.tool.is_some() { AskedKind::Tool } else { AskedKind::Input }
}

/// An id as sent, for a message.
fn shortened(id: &str) -> String {
    let short: String = id.chars().take(40).collect();
    format!("\"{}\"", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use wardian_formats::job::session::asking::MAX_ROUND;
    use wardian_formats::protocol::methods::asking::MAX_ANSWERS;

    fn tools(names: &[&str]) -> Result<CalledTools, String> {
        let declared: Vec<ToolDeclaration> = names
            .iter()
            .map(|name| serde_json::from_value(json!({"name": name})).unwrap())
            .collect();
        CalledTools::of(&declared).map_err(|error| error.to_string())
    }

    fn requests() -> CallerRequests {
        let text = br#"[{"number":4,"tool":{"name":"f","arguments":{"a":1}}},
            {"number":6,"input":{"prompt":"Name?","hidden":true}}]"#;
        CallerRequests::read(text).unwrap()
    }

    fn asked() -> AskedCell {
        AskedCell::of(&requests(), &tools(&["f"]).unwrap().names).unwrap()
    }

    fn answered(answers: &Value) -> Result<String, String> {
        let answers: Vec<AnswerParam> = serde_json::from_str(&answers.to_string()).unwrap();
        match asked().answered(3, answers) {
            Ok(text) => Ok(text.as_str().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn tools_have_different_names_in_the_program() {
        let two = tools(&["crm/find", "crm-list"]).unwrap();
        assert_eq!(two.declared.unwrap().as_str(), r#"[{"name":"crm/find"},{"name":"crm-list"}]"#);
        assert!(two.names.contains("crm/find") && two.names.len() == 2);
        for wrong in [&["a.b", "a_b"][..], &["f", "f"], &["input"], &["ToolError"]] {
            let message = tools(wrong).unwrap_err();
            assert!(message.contains(&format!("tools[{}].name", wrong.len() - 1)), "{message}");
        }
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let text = serde_json::to_string(&asked()).unwrap();
        assert_eq!(text, r#"{"tools":["f"],"requests":[[4,"tool"],[6,"input"]]}"#);
        assert_eq!(serde_json::from_str::<AskedCell>(&text).unwrap(), asked());
        let undeclared = AskedCell::of(&requests(), &BTreeSet::new()).unwrap_err();
        assert!(undeclared.contains("`f`"), "{undeclared}");
    }

    #[test]
    fn an_interrupt_stands_in_the_place_of_all_answers() {
        let expected = r#"[{"number":4,"interrupt":true},{"number":6,"interrupt":true}]"#;
        assert_eq!(asked().interrupted().unwrap().as_str(), expected);
    }

    #[test]
    fn callers_see_ids_kinds_and_what_is_asked() {
        let shown = shown(3, requests());
        assert_eq!(summary_of(&shown), "Waits for 2 answers, of f.");
        let expected = json!([
            {"id": "c3-r4", "kind": "tool", "name": "f", "arguments": {"a": 1}},
            {"id": "c3-r6", "kind": "input", "prompt": "Name?", "hidden": true},
        ]);
        assert_eq!(serde_json::to_value(&shown).unwrap(), expected);
        assert_eq!(summary_of(&shown[1..]), "Waits for a line of text.");
    }

    #[test]
    fn a_call_has_place_for_all_answers() {
        assert_eq!(MAX_ANSWERS, MAX_ROUND);
    }

    #[test]
    fn each_request_is_answered_once_in_any_order() {
        let answers = json!([{"id": "c3-r6", "output": "Ada"}, {"id": "c3-r4", "error": "no"}]);
        let expected = r#"[{"number":6,"output":"Ada"},{"number":4,"error":"no"}]"#;
        assert_eq!(answered(&answers), Ok(expected.to_owned()));
        let nothing = json!([{"id": "c3-r4", "output": null}, {"id": "c3-r6", "error": "no"}]);
        assert_eq!(
            answered(&nothing),
            Ok(r#"[{"number":4},{"number":6,"error":"no"}]"#.to_owned())
        );
        let (first, line) = (json!({"id": "c3-r4"}), json!({"id": "c3-r6", "output": ""}));
        for (answers, parameter, words) in [
            (json!([]), "answers", "`c3-r4` is missing"),
            (json!([first]), "answers", "`c3-r6` is missing"),
            (json!([first, first]), "answers[1].id", "repeats"),
            (json!([first, line, line]), "answers[2].id", "repeats"),
            (json!([{"id": "c2-r4"}]), "answers[0].id", "such as `c3-r4`"),
            (json!([first, line, {"id": "c3-r9"}]), "answers[2].id", "all requests have an answer"),
            (json!([{"id": "c3-r4", "output": 1, "error": ""}]), "answers[0]", "both"),
            (json!([{"id": "c3-r6", "output": 1}]), "answers[0].output", "a string"),
        ] {
            let message = answered(&answers).unwrap_err();
            assert!(message.contains(parameter) && message.contains(words), "{message}");
        }
    }
}
