//! What calls of Python's library give back.

use crate::scan::decode::{decoded, of_codes, rotated};
use crate::scan::python::cursor::PassedValue;
use crate::scan::python::known::{Known, Marks, limited};
use crate::scan::python::names::PythonReading;
use crate::scan::python::rules::{decodes, fetches, starts_process};

/// Functions whose result is the text of their first argument.
const SAME_TEXT: [&str; 14] = [
    "str",
    "Path",
    "pathlib.Path",
    "pathlib.PurePath",
    "os.path.expanduser",
    "os.path.expandvars",
    "os.path.abspath",
    "os.path.normpath",
    "os.path.realpath",
    "os.fspath",
    "compile",
    "textwrap.dedent",
    "shlex.split",
    "codecs.encode",
];

/// Methods whose result is the text that they belong to.
const SAME_METHODS: [&str; 14] = [
    "encode",
    "decode",
    "strip",
    "lstrip",
    "rstrip",
    "expanduser",
    "resolve",
    "absolute",
    "lower",
    "format",
    "as_posix",
    "__str__",
    "splitlines",
    "split",
];

impl PythonReading<'_> {
    /// What is known of the result of a call.
    pub(crate) fn result_of(
        &mut self,
        path: &str,
        callee: &Known,
        arguments: &[PassedValue],
        line: usize,
    ) -> Known {
        let marks = arguments.iter().fold(callee.marks, |marks, one| marks | one.value.marks);
        let first = arguments.first().map(|one| &one.value);
        let text_of = |at: usize| arguments.get(at).and_then(|one| one.value.text.clone());
        match path {
            "getattr" => {
                let target = first.map(|one| one.path.clone()).unwrap_or_default();
                let member = text_of(1).unwrap_or_default();
                let is_builtin = matches!(target.as_str(), "builtins" | "__builtins__" | "");
                let found = if is_builtin { member } else { format!("{target}.{member}") };
                return Known { marks: marks | Marks::COMPOSED, ..Known::named(&found) };
            }
            "__import__" | "importlib.import_module" | "importlib.__import__" => {
                return Known { marks, ..Known::named(&text_of(0).unwrap_or_default()) };
            }
            "pathlib.Path.home" | "Path.home" => return Known::text("~".to_owned()),
            "os.getenv" | "os.environ.get" | "os.environ.pop" | "os.environ.setdefault" => {
                return self.variable(&text_of(0).unwrap_or_default(), line);
            }
            "globals" | "locals" | "vars" => {
                let of = first.map(|one| one.path.clone()).unwrap_or_default();
                let path = if of == "os" { "os.__dict__".to_owned() } else { format!("{path}()") };
                return Known::named(&path);
            }
            "os.path.join" | "posixpath.join" => {
                let parts = arguments.iter().map(|one| one.value.clone());
                return parts.reduce(|one, other| one.joined(other, "/")).unwrap_or_default();
            }
            "map" | "list" | "tuple" | "filter" | "iter" | "reversed" | "sorted" => {
                return list_of(path, arguments, marks);
            }
            // Only a file that is written keeps its name.
            "open" if text_of(1).is_some_and(|mode| mode.contains('w')) => {
                let members = text_of(0).into_iter().collect();
                return Known { marks, members, ..Known::named("open()") };
            }
            _ => {}
        }
        plain_result(path, callee, arguments, marks)
    }
}

/// The result of a call that only passes on and changes what it is given.
fn plain_result(path: &str, callee: &Known, arguments: &[PassedValue], marks: Marks) -> Known {
    let first = arguments.first().map(|one| &one.value);
    let given = arguments.first().and_then(|one| one.value.text.as_deref());
    let name = path.rsplit_once('.').map_or(path, |(_, name)| name);
    let text = text_result(path, name, callee, arguments);
    let mut marks = marks.without(Marks::COMPOSED);
    // `chr(10)` is how people write what a text cannot hold: it hides no letter.
    let is_sign = path == "chr"
        && text
            .as_deref()
            .is_some_and(|sign| !sign.is_empty() && !sign.contains(char::is_alphanumeric));
    if decodes(path) && !is_sign || (name == "decode" && matches!(given, Some("rot13" | "rot_13")))
    {
        marks = marks | Marks::DECODED;
    }
    if fetches(path) {
        marks = marks.without(Marks::SECRET) | Marks::DOWNLOADED;
    }
    if starts_process(path) {
        let command = first.and_then(Known::command).unwrap_or_default();
        let is_download = command.contains("curl ") || command.contains("wget ");
        marks = if is_download { Marks::DOWNLOADED } else { Marks::NONE };
    }
    if matches!(
        path,
        "len" | "bool" | "isinstance" | "hash" | "id" | "os.path.exists" | "int" | "type"
    ) || matches!(
        name,
        "exists" | "is_file" | "is_dir" | "startswith" | "endswith" | "hexdigest"
    ) {
        marks = Marks::NONE;
    }
    let is_whole = text.is_some() && (first.is_none_or(|one| one.is_whole) || callee.is_whole);
    let members = if name == "split" { words_of(text.as_deref()) } else { Vec::new() };
    Known { path: limited(format!("{path}()")), text, is_whole, members, marks }
}

fn words_of(text: Option<&str>) -> Vec<String> {
    text.unwrap_or_default().split_whitespace().take(200).map(str::to_owned).collect()
}

fn list_of(path: &str, arguments: &[PassedValue], marks: Marks) -> Known {
    let is_map = path == "map";
    let of_chars = is_map && arguments.first().is_some_and(|one| one.value.path == "chr");
    let list = arguments.get(usize::from(is_map)).map(|one| one.value.clone()).unwrap_or_default();
    let mut members = list.members;
    if of_chars {
        let text = of_codes(&members).unwrap_or_default();
        members = text.chars().map(String::from).collect();
    }
    if path == "reversed" {
        members.reverse();
    }
    let marks = if of_chars || path == "reversed" { marks | Marks::DECODED } else { marks };
    Known { path: list.path, text: list.text, is_whole: list.is_whole, members, marks }
}

/// The text that a call makes, if it is known.
fn text_result(
    path: &str,
    name: &str,
    callee: &Known,
    arguments: &[PassedValue],
) -> Option<String> {
    let first = arguments.first().map(|one| &one.value);
    let text = first.and_then(|one| one.text.as_deref());
    let second = arguments.get(1).and_then(|one| one.value.text.as_deref());
    if decodes(path) {
        if matches!(path, "bytes" | "bytearray" | "chr") {
            let codes: Option<Vec<String>> = first.map(|one| {
                if path == "chr" { one.text.iter().cloned().collect() } else { one.members.clone() }
            });
            return codes.and_then(|codes| of_codes(&codes)).or_else(|| text.map(str::to_owned));
        }
        if path == "codecs.decode" && matches!(second, Some("rot13" | "rot_13")) {
            return text.map(rotated);
        }
        return text.and_then(|text| decoded(path, text));
    }
    if SAME_TEXT.contains(&path) {
        return text.map(str::to_owned);
    }
    let own = callee.text.as_deref();
    match name {
        "join" => {
            let members = &first?.members;
            (!members.is_empty()).then(|| members.join(own.unwrap_or_default()))
        }
        "joinpath" => own.zip(text).map(|(own, text)| format!("{own}/{text}")),
        "replace" => own.map(|own| match text.zip(second) {
            Some((from, to)) if !from.is_empty() && to.len() <= from.len() => own.replace(from, to),
            _ => own.to_owned(),
        }),
        "with_name" | "read" | "read_text" | "readlines" | "read_bytes" => None,
        _ if SAME_METHODS.contains(&name) => own.map(str::to_owned),
        _ => None,
    }
}
