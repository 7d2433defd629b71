//! What calls do: what their results are, and what a reader should know of them.

use crate::scan::address::look_at_addresses;
use crate::scan::finding::{
    AGENT_SETTINGS, CREDENTIAL_FILE, DECODE_AND_FOLLOW, DECODED_CODE, DESTRUCTIVE, DOWNLOADED_CODE,
    DYNAMIC_CODE, ENCODED_TEXT, ENVIRONMENT, HIDDEN_CALL, MARSHAL, NETWORK, PERSISTENCE, PICKLE,
    PROCESS, REVERSE_SHELL, SECRET_NAME, SECRETS_SENT, SHELL_TEXT, SURVEILLANCE, VARIABLE_SENT,
};
use crate::scan::paths::{
    is_agent_path, is_credential_path, is_precious, is_secret_name, is_start_path,
};
use crate::scan::python::cursor::PassedValue;
use crate::scan::python::known::{Known, Marks};
use crate::scan::python::names::{PythonPlace, PythonReading};
use crate::scan::python::rules::{
    executes, fetches, loads_native, sends, starts_process, unpickles, watches,
};
use crate::scan::shell::{Shell, look_at_shell, steps_of};
use crate::scan::texts::blocks::is_unreadable;

/// Most files that are remembered as downloaded.
const MAX_DOWNLOADS: usize = 20;

/// A text of this many letters without a space says nothing to a reader.
const LONG_ENCODED: usize = 1_000;

impl PythonReading<'_> {
    /// Looks at a call and says what is known of its result.
    pub(crate) fn call(&mut self, callee: &Known, arguments: &[PassedValue], line: usize) -> Known {
        let path = callee.path.strip_prefix("builtins.").unwrap_or(&callee.path).to_owned();
        let path =
            if path == "codecs.open" || path == "io.open" { "open".to_owned() } else { path };
        let secret = self.secret_of(&path, callee, arguments, line);
        if self.tells {
            self.look_at_call(&path, callee, arguments, line);
        }
        if let Some(known) = self.own_function(&path, arguments) {
            return known;
        }
        let mut result = self.result_of(&path, callee, arguments, line);
        result.marks = result.marks | secret;
        result
    }

    /// The mark of a secret, if the call is about a file of credentials. Notes the file.
    fn secret_of(
        &mut self,
        path: &str,
        callee: &Known,
        arguments: &[PassedValue],
        line: usize,
    ) -> Marks {
        let is_talk = matches!(path, "print" | "input" | "re.compile" | "re.search" | "re.match")
            || path.ends_with("Error")
            || path.ends_with("Exception")
            || path.ends_with("add_argument")
            || path.contains("log")
            || path.ends_with("echo")
            || path.ends_with("write");
        if is_talk {
            return Marks::NONE;
        }
        if matches!(path, "keyring.get_password" | "win32crypt.CryptUnprotectData")
            || path.starts_with("browser_cookie3.")
        {
            self.tell(CREDENTIAL_FILE, line);
            return Marks::SECRET;
        }
        let texts = arguments.iter().filter(|one| one.name != "help").map(|one| &one.value);
        let texts = texts.chain([callee]).filter_map(|one| one.text.as_deref());
        let mut is_secret = false;
        for text in texts {
            if names_credentials(text) {
                is_secret = true;
            }
            let opens =
                path == "open" || path.ends_with("read_text") || path.ends_with("read_bytes");
            if opens && (text == ".env" || text.ends_with("/.env")) {
                return Marks::VARIABLE;
            }
        }
        if !is_secret {
            return Marks::NONE;
        }
        self.tell(CREDENTIAL_FILE, line);
        Marks::SECRET
    }

    fn look_at_call(&mut self, path: &str, callee: &Known, arguments: &[PassedValue], line: usize) {
        let first = arguments.first().map(|one| &one.value);
        let payload =
            arguments.iter().filter(|one| !matches!(one.name.as_str(), "env" | "cwd" | "timeout"));
        let payload = payload.fold(Marks::NONE, |marks, one| marks | one.value.marks);
        let does_harm = executes(path) || starts_process(path);
        if does_harm && payload.has(Marks::CUT) {
            self.leave_out("a text or list that is longer than is followed");
        }
        if does_harm && callee.marks.has(Marks::COMPOSED | Marks::DECODED) {
            self.tell(HIDDEN_CALL, line);
        }
        if executes(path) {
            self.look_at_executed(path, first, line);
        }
        if matches!(path, "__import__" | "importlib.import_module") && payload.has(Marks::DECODED) {
            self.tell(HIDDEN_CALL, line);
        }
        if starts_process(path) {
            self.look_at_process(path, arguments, payload, line);
        }
        if unpickles(path) || path.starts_with("marshal.load") {
            match (payload.has(Marks::DOWNLOADED), payload.has(Marks::DECODED)) {
                (true, _) => self.tell(DOWNLOADED_CODE, line),
                (_, true) => self.tell(DYNAMIC_CODE, line),
                _ if unpickles(path) => self.tell(PICKLE, line),
                _ => {}
            }
        }
        if loads_native(path) {
            self.tell(MARSHAL, line);
        }
        if watches(path) {
            self.tell(SURVEILLANCE, line);
        }
        self.look_at_downloads(path, callee, arguments, line);
        self.look_at_values(path, arguments, payload, line);
        if path == "os.dup2" || path == "pty.spawn" {
            self.facts.gives_shell = Some(line);
        }
        self.look_at_files(path, callee, arguments, line);
    }

    /// Files that are downloaded, and executed later.
    fn look_at_downloads(
        &mut self,
        path: &str,
        callee: &Known,
        arguments: &[PassedValue],
        line: usize,
    ) {
        let payload = arguments.iter().fold(Marks::NONE, |marks, one| marks | one.value.marks);
        let text_of = |at: usize| arguments.get(at).and_then(|one| one.value.text.clone());
        let written = match path {
            "urllib.request.urlretrieve" | "wget.download" => text_of(1),
            _ if !payload.has(Marks::DOWNLOADED) => None,
            _ if path.ends_with("write_bytes") || path.ends_with("write_text") => {
                callee.text.clone()
            }
            _ if path.ends_with(".write") => callee.members.first().cloned(),
            _ => None,
        };
        let is_room = self.facts.downloads.len() < MAX_DOWNLOADS;
        self.facts.downloads.extend(written.filter(|name| name.len() > 2 && is_room));
        if starts_process(path) || loads_native(path) || path == "runpy.run_path" {
            let mut commands = arguments.iter().filter_map(|one| one.value.command());
            let is_one = |command: String| {
                self.facts.downloads.iter().any(|name| match starts_process(path) {
                    true => is_executed(&command, name),
                    false => command.contains(name.as_str()),
                })
            };
            let runs = commands.any(is_one);
            if runs {
                self.tell(DOWNLOADED_CODE, line);
            }
        }
    }

    /// What is sent and shown.
    fn look_at_values(
        &mut self,
        path: &str,
        arguments: &[PassedValue],
        payload: Marks,
        line: usize,
    ) {
        if sends(path) || fetches(path) || path == "webbrowser.open" {
            self.notes.note_once(NETWORK, line, path);
            if payload.has(Marks::SECRET | Marks::ENVIRONMENT) {
                self.tell(SECRETS_SENT, line);
            }
            let is_body = |one: &&PassedValue| {
                matches!(one.name.as_str(), "json" | "data" | "files" | "content")
            };
            let body = arguments.iter().filter(is_body);
            let body = body.fold(Marks::NONE, |marks, one| marks | one.value.marks);
            if body.has(Marks::VARIABLE) {
                self.tell(VARIABLE_SENT, line);
            }
        }
        let is_payload = payload.has(Marks::DECODED) && !payload.has(Marks::DOWNLOADED);
        if path == "print"
            && self.shown == PythonPlace::Example
            && is_payload
            && self.facts.has_payload
        {
            self.tell(DECODE_AND_FOLLOW, line);
        }
        if matches!(path, "json.dumps" | "print" | "str" | "repr" | "dict" | "list")
            && payload.has(Marks::ENVIRONMENT)
        {
            self.tell(ENVIRONMENT, line);
        }
    }

    fn look_at_executed(&mut self, path: &str, first: Option<&Known>, line: usize) {
        let Some(code) = first else { return };
        let shown = code.text.clone().filter(|_| code.is_whole && code.marks.has(Marks::DECODED));
        if code.marks.has(Marks::DOWNLOADED) {
            self.tell(DOWNLOADED_CODE, line);
        } else if code.marks.has(Marks::DECODED) {
            match &shown {
                Some(text) => self.notes.note(DECODED_CODE, line, &format!("decoded: {text}")),
                None => self.tell(DECODED_CODE, line),
            }
        } else if !code.is_whole && matches!(path, "exec" | "eval") {
            self.tell(DYNAMIC_CODE, line);
        }
        if let Some(text) = code.text.as_ref().filter(|_| code.is_whole) {
            self.nested(text, line);
        }
    }

    fn look_at_process(
        &mut self,
        path: &str,
        arguments: &[PassedValue],
        payload: Marks,
        line: usize,
    ) {
        let Some(first) = arguments.iter().find(|one| !matches!(one.name.as_str(), "env" | "cwd"))
        else {
            return;
        };
        let command = first.value.command();
        let shown = command.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or(path);
        self.notes.note_once(PROCESS, line, shown);
        let is_shell = arguments
            .iter()
            .any(|one| one.name == "shell" && one.value.text.as_deref() == Some("True"))
            || matches!(
                path,
                "os.system" | "os.popen" | "subprocess.getoutput" | "subprocess.getstatusoutput"
            );
        if payload.has(Marks::DOWNLOADED) && (is_shell || first.value.marks.has(Marks::DOWNLOADED))
        {
            self.tell(DOWNLOADED_CODE, line);
        } else if first.value.marks.has(Marks::DECODED) {
            self.tell(DECODED_CODE, line);
        } else if is_shell && !first.value.is_whole && first.value.members.is_empty() {
            self.tell(SHELL_TEXT, line);
        }
        if arguments.iter().any(|one| one.name == "stdin" && one.value.path.starts_with("socket."))
        {
            self.tell(REVERSE_SHELL, line);
        }
        if let Some(command) = command {
            let uploads =
                command.contains("curl") || command.contains("wget") || command.contains("nc ");
            if uploads && payload.has(Marks::SECRET | Marks::ENVIRONMENT) {
                self.tell(SECRETS_SENT, line);
            }
            look_at_shell(&command, line, Shell::Fragment, self.notes);
        }
    }

    fn look_at_files(
        &mut self,
        path: &str,
        callee: &Known,
        arguments: &[PassedValue],
        line: usize,
    ) {
        let name = path.rsplit_once('.').map_or(path, |(_, name)| name);
        let text_of = |at: usize| arguments.get(at).and_then(|one| one.value.text.as_deref());
        let mode = arguments
            .iter()
            .find(|one| one.name == "mode")
            .and_then(|one| one.value.text.as_deref());
        let writes = |mode: Option<&str>| {
            mode.is_some_and(|mode| mode.len() <= 4 && mode.contains(['w', 'a', 'x', '+']))
        };
        let target = match name {
            "open" if path == "open" && writes(mode.or_else(|| text_of(1))) => text_of(0),
            "open" if writes(mode.or_else(|| text_of(0))) => callee.text.as_deref(),
            "write_text" | "write_bytes" | "symlink_to" => callee.text.as_deref(),
            "copy" | "copyfile" | "copy2" | "move" | "copytree" | "symlink" | "rename" => {
                text_of(1)
            }
            _ => None,
        };
        if let Some(target) = target {
            if is_agent_path(target) {
                self.tell(AGENT_SETTINGS, line);
            } else if is_start_path(target) {
                self.tell(PERSISTENCE, line);
            }
        }
        if matches!(path, "shutil.rmtree" | "os.removedirs") {
            let whole = arguments.first().filter(|one| one.value.is_whole);
            if whole.and_then(|one| one.value.text.as_deref()).is_some_and(is_precious) {
                self.tell(DESTRUCTIVE, line);
            }
        }
        if name == "set_value" || path.ends_with("SetValueEx") {
            self.tell(PERSISTENCE, line);
        }
    }

    /// What is known of one environment variable.
    pub(crate) fn variable(&mut self, name: &str, line: usize) -> Known {
        if is_secret_name(name) || name.is_empty() {
            if self.tells && !name.is_empty() {
                self.notes.note_once(SECRET_NAME, line, name);
            }
            return Known { marks: Marks::VARIABLE, ..Known::default() };
        }
        if matches!(name, "HOME" | "USERPROFILE") {
            Known::text("~".to_owned())
        } else {
            Known::default()
        }
    }

    /// A text of the program: addresses and paths of credentials in it.
    pub(crate) fn text_seen(&mut self, mut value: Known, line: usize) -> Known {
        let Some(text) = value.text.as_deref() else { return value };
        self.facts.has_payload |= is_unreadable(text);
        if self.tells {
            look_at_addresses(text, line, self.notes);
            let is_encoded = text.len() >= LONG_ENCODED
                && !text.starts_with("data:")
                && !text.contains([' ', '{', '<', '/', '\\', '.']);
            if is_encoded {
                self.notes.note_once(ENCODED_TEXT, line, text);
            }
        }
        if names_credentials(text) {
            self.tell(CREDENTIAL_FILE, line);
            value.marks = value.marks | Marks::SECRET;
        }
        value
    }

    /// Notes that a program goes through all environment variables.
    pub(crate) fn noted_sweep(&mut self, values: &Known, line: usize) {
        let is_sweep = values.path == "os.environ"
            || values.path.starts_with("os.environ.")
                && !values.path.starts_with("os.environ.copy");
        if is_sweep && values.marks.has(Marks::ENVIRONMENT) {
            self.tell(ENVIRONMENT, line);
        }
    }
}

/// True if a command executes the file of this name, and does not only read it.
fn is_executed(command: &str, name: &str) -> bool {
    let base = |path: &str| path.rsplit(['/', '\\']).next().map(str::to_owned);
    let wanted = base(name);
    command
        .lines()
        .flat_map(steps_of)
        .any(|step| step.executed().into_iter().any(|word| base(word) == wanted))
}

/// True for the path of a file of credentials, as a program names one: hardly any spaces.
fn names_credentials(text: &str) -> bool {
    text.split_whitespace().count() <= 3 && is_credential_path(text)
}
