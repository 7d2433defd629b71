//! Reads the statements of a Python file: imports, functions, assignments.
//!
//! Three readings follow values through functions of all files of a skill; only the last one tells.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use crate::scan::finding::{
    CODE_NOT_SCANNED, DYNAMIC_CODE, NETWORK, Notes, QUOTED_OVERRIDE, REVERSE_SHELL, ScanLevel,
};
use crate::scan::python::cursor::Cursor;
use crate::scan::python::known::{Known, Marks, limited};
use crate::scan::python::names::{Facts, Functions, MAX_WORK, PythonPlace, PythonReading};
use crate::scan::python::rules::is_network;
use crate::scan::python::tokens::{PythonToken, TokenKind, tokens_of};
use crate::scan::texts::phrases::{Hit, phrases_in};
use crate::scan::texts::words::words_of_line;

/// Readings of each file: functions call functions, so what they pass on takes some rounds.
const READINGS: usize = 3;

/// Most tokens of one part of a `with` statement.
const MAX_WITH: usize = 200;

/// Most lines of a docstring.
const MAX_ROWS: usize = 500;

/// Deepest statements within one line.
const MAX_STATEMENTS: usize = 40;

/// Deepest programs within programs.
const MAX_NESTED: usize = 3;

/// A Python file, with what is known of its names.
#[derive(Debug)]
pub(crate) struct PythonFile<'f> {
    text: &'f str,
    tokens: Vec<PythonToken>,
    is_whole: bool,
    names: HashMap<String, Known>,
}

impl<'f> PythonFile<'f> {
    pub(crate) fn of(text: &'f str) -> Self {
        let (tokens, is_whole) = tokens_of(text);
        Self { text, tokens, is_whole, names: HashMap::new() }
    }

    /// Code that starts at a line of a larger file, such as a fenced block.
    pub(crate) fn at_line(text: &'f str, whole: &'f str, line: usize) -> Self {
        let (mut tokens, is_whole) = tokens_of(text);
        tokens.iter_mut().for_each(|token| token.line = token.line.saturating_add(line));
        Self { text: whole, tokens, is_whole, names: HashMap::new() }
    }
}

/// Looks at all Python files of a skill together.
pub(crate) fn look_at_python(
    files: &mut [(PythonFile<'_>, Notes)],
    own_modules: &HashSet<String>,
    shown: PythonPlace,
    work_left: &mut usize,
) {
    let mut functions = Functions::new();
    // The blocks of a page have one text, whose lines are split once.
    let (mut lines, mut split): (Vec<&str>, &str) = (Vec::new(), "");
    for round in 1..=READINGS {
        for (file, notes) in files.iter_mut() {
            if !std::ptr::eq(split, file.text) {
                split = file.text;
                lines = split.lines().collect();
            }
            let mut reading = PythonReading {
                notes,
                names: std::mem::take(&mut file.names),
                functions: &mut functions,
                own_modules,
                imported: HashSet::new(),
                scopes: Vec::new(),
                lines: &lines,
                facts: Facts::default(),
                tells: round == READINGS,
                work: Cell::new(0),
                most_work: MAX_WORK.min(*work_left),
                depth: 0,
                statements_open: 0,
                brackets_open: 0,
                shown,
            };
            reading.statements(&file.tokens);
            if let Some(line) = reading.facts.gives_shell.filter(|_| reading.facts.uses_sockets) {
                reading.tell(REVERSE_SHELL, line);
            }
            if reading.is_spent() {
                reading.leave_out("more values than are followed");
            }
            if !file.is_whole {
                reading.leave_out("more tokens than are read");
            }
            if let Some(reason) = reading.facts.left_out.filter(|_| reading.tells) {
                reading.notes.note(CODE_NOT_SCANNED, 0, reason);
            }
            *work_left = work_left.saturating_sub(reading.work.get());
            // Nothing is kept after the last reading.
            file.names = if reading.tells { HashMap::new() } else { reading.names };
        }
    }
}

impl PythonReading<'_> {
    fn statements(&mut self, tokens: &[PythonToken]) {
        for statement in tokens.split(|token| token.kind == TokenKind::End) {
            let Some(first) = statement.first() else { continue };
            while self.scopes.last().is_some_and(|(indent, _)| first.indent <= *indent) {
                self.scopes.pop();
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, tokens: &[PythonToken]) {
        if self.statements_open < MAX_STATEMENTS {
            self.statements_open = self.statements_open.saturating_add(1);
            self.one_statement(tokens);
            self.statements_open = self.statements_open.saturating_sub(1);
        } else {
            self.leave_out("more statements in one line than are read");
        }
    }

    fn one_statement(&mut self, tokens: &[PythonToken]) {
        let Some(first) = tokens.first() else { return };
        let rest = tokens.get(1..).unwrap_or_default();
        if first.kind == TokenKind::Text && rest.is_empty() {
            return self.docstring(first);
        }
        if first.kind != TokenKind::Name {
            return self.assignment(tokens);
        }
        match first.text.as_str() {
            "import" => self.import(rest),
            "from" => self.import_from(rest),
            "async" => self.statement(rest),
            "def" => self.definition(first, rest),
            "class" => {
                if let Some(name) = rest.first() {
                    self.assign(&name.text, Known::named(&name.text));
                }
            }
            "for" => {
                let mut cursor = Cursor::of(rest);
                self.loop_variables(&mut cursor);
                self.after_colon(&mut cursor);
            }
            "with" => self.with(rest),
            "return" | "yield" => {
                let mut cursor = Cursor::of(rest);
                let mut value = self.expression(&mut cursor);
                while cursor.eat(",") {
                    let more = self.expression(&mut cursor);
                    value.push_member(&more);
                }
                self.returned(value);
            }
            "if" | "elif" | "while" | "else" | "try" | "finally" | "except" | "match" | "case" => {
                let mut cursor = Cursor::of(rest);
                if first.text == "match"
                    && cursor.peek().is_none_or(|next| next.is("=") || next.is("."))
                {
                    return self.assignment(tokens);
                }
                self.expression(&mut cursor);
                self.after_colon(&mut cursor);
            }
            "raise" | "assert" | "del" | "await" | "global" | "nonlocal" | "pass" => {
                self.values(&mut Cursor::of(rest));
            }
            _ => self.assignment(tokens),
        }
    }

    /// A docstring is no code, but models read it: of tools, for example.
    fn docstring(&mut self, token: &PythonToken) {
        if !self.tells {
            return;
        }
        if token.text.lines().nth(MAX_ROWS).is_some() {
            self.leave_out("more lines of a text than are read");
        }
        let mut words = Vec::new();
        for (at, row) in token.text.lines().enumerate().take(MAX_ROWS) {
            words_of_line(row, token.line.saturating_add(at), false, &mut words);
        }
        for Hit { rule, line, is_quoted } in phrases_in(&words) {
            let is_spoken_of = is_quoted && rule.level == ScanLevel::Danger;
            self.tell(if is_spoken_of { QUOTED_OVERRIDE } else { rule }, line);
        }
    }

    /// The statement after the colon of a compound statement in one line.
    fn after_colon(&mut self, cursor: &mut Cursor<'_>) {
        while let Some(token) = cursor.next() {
            if token.is(":") {
                return self.statement(cursor.rest());
            }
            self.expression(cursor);
        }
    }

    fn values(&mut self, cursor: &mut Cursor<'_>) {
        while cursor.peek().is_some() {
            self.expression(cursor);
            cursor.next();
        }
    }

    fn import(&mut self, tokens: &[PythonToken]) {
        for part in tokens.split(|token| token.is(",")) {
            let (module, alias) = module_and_alias(part);
            let Some(line) = part.first().map(|token| token.line) else { continue };
            self.module_seen(&module, line);
            match alias {
                Some(alias) => self.assign_global(&alias, Known::named(&module)),
                None => {
                    let top = module.split('.').next().unwrap_or_default();
                    self.assign_global(top, Known::named(top));
                }
            }
        }
    }

    fn import_from(&mut self, tokens: &[PythonToken]) {
        let Some(at) = tokens.iter().position(|token| token.is("import")) else { return };
        let module: String = tokens.iter().take(at).map(|token| token.text.as_str()).collect();
        let module = module.trim_start_matches('.').to_owned();
        let line = tokens.first().map_or(0, |token| token.line);
        self.module_seen(&module, line);
        let names = tokens.get(at.saturating_add(1)..).unwrap_or_default();
        for part in names.split(|token| token.is(",")) {
            let part: Vec<_> =
                part.iter().filter(|token| !token.is("(") && !token.is(")")).collect();
            let (Some(name), alias) = (part.first(), part.get(2)) else { continue };
            let path = format!("{module}.{}", name.text);
            if is_network(&path) {
                self.module_seen(&path, line);
            }
            let path = path.strip_prefix("builtins.").unwrap_or(&path).to_owned();
            self.assign_global(&alias.unwrap_or(name).text, Known::named(&path));
        }
    }

    fn module_seen(&mut self, module: &str, line: usize) {
        let top = module.split('.').next().unwrap_or_default();
        if self.own_modules.contains(top) {
            return;
        }
        self.imported.insert(top.to_owned());
        self.facts.uses_sockets |= top == "socket";
        if self.tells && is_network(module) {
            self.notes.note_once(NETWORK, line, module);
        }
    }

    fn definition(&mut self, first: &PythonToken, tokens: &[PythonToken]) {
        let Some(name) = tokens.first().map(|token| limited(token.text.clone())) else { return };
        let mut cursor = Cursor::of(tokens.get(1..).unwrap_or_default());
        let (mut parameters, mut depth) = (Vec::new(), 0_usize);
        while let Some(token) = cursor.next() {
            match token.text.as_str() {
                "(" | "[" | "{" => depth = depth.saturating_add(1),
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                ":" if depth == 0 => break,
                "=" if depth == 1 => drop(self.expression(&mut cursor)),
                ":" | "->" => drop(self.expression(&mut cursor)),
                _ if depth == 1 && token.kind == TokenKind::Name => {
                    parameters.push(limited(token.text.clone()));
                }
                _ => {}
            }
        }
        parameters.retain(|name| name != "self" && name != "cls");
        let function = self.functions.entry(name.clone()).or_default();
        function.parameters = parameters;
        if matches!(name.as_str(), "eval" | "exec" | "compile" | "open") && self.scopes.is_empty() {
            self.assign_global(&name, Known::named(&format!("own.{name}")));
        }
        self.scopes.push((first.indent, name));
        let inner = cursor.rest();
        if !inner.is_empty() {
            self.statement(inner);
        }
    }

    fn with(&mut self, tokens: &[PythonToken]) {
        let mut cursor = Cursor::of(tokens);
        if is_in_brackets(tokens) {
            cursor.eat("(");
        }
        while cursor.peek().is_some() {
            let value = self.expression_until_as(&mut cursor);
            if let Some((name, value)) = value {
                self.assign(&name, value);
            }
            if !cursor.eat(",") {
                break;
            }
        }
        cursor.eat(")");
        self.after_colon(&mut cursor);
    }

    /// `open(x) as f`: the value and its name.
    fn expression_until_as(&mut self, cursor: &mut Cursor<'_>) -> Option<(String, Known)> {
        let rest = cursor.rest();
        // Bounded, since each part of a long list looks for its own.
        let rest = rest.get(..MAX_WITH.min(rest.len())).unwrap_or_default();
        let at = rest.iter().position(|token| token.is("as") || token.is(":"));
        let at = at.unwrap_or(rest.len());
        let head = rest.get(..at).unwrap_or_default();
        let is_named = rest.get(at).is_some_and(|token| token.is("as"));
        if !is_named {
            self.expression(cursor);
            return None;
        }
        let value = self.expression(&mut Cursor::of(head));
        cursor.skip(at.saturating_add(1));
        let name = cursor.next()?.text.clone();
        Some((name, value))
    }

    /// `a = b = value`, `a += value`, `a: type = value`, or a value alone.
    fn assignment(&mut self, tokens: &[PythonToken]) {
        let (mut depth, mut splits) = (0_usize, Vec::new());
        for (at, token) in
            tokens.iter().enumerate().filter(|(_, one)| one.kind == TokenKind::Operator)
        {
            match token.text.as_str() {
                "(" | "[" | "{" | "f(" => depth = depth.saturating_add(1),
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                "=" | "+=" | "|=" | "/=" if depth == 0 => splits.push(at),
                _ => {}
            }
        }
        let Some(last) = splits.last().copied() else {
            let mut cursor = Cursor::of(tokens);
            let value = self.expression(&mut cursor);
            self.mutation(tokens, value.marks);
            return self.values(&mut cursor);
        };
        let is_added = tokens.get(last).is_some_and(|token| !token.is("="));
        let mut cursor = Cursor::of(tokens.get(last.saturating_add(1)..).unwrap_or_default());
        let mut value = self.expression(&mut cursor);
        while cursor.eat(",") {
            let more = self.expression(&mut cursor);
            value.push_member(&more);
        }
        let mut start = 0;
        for at in splits {
            let target = tokens.get(start..at).unwrap_or_default();
            self.target(target, &value, is_added);
            start = at.saturating_add(1);
        }
    }

    fn target(&mut self, tokens: &[PythonToken], value: &Known, is_added: bool) {
        let colon = tokens.iter().position(|token| token.is(":") || token.is("["));
        let is_item = colon.and_then(|at| tokens.get(at)).is_some_and(|token| token.is("["));
        let names = tokens.get(..colon.unwrap_or(tokens.len())).unwrap_or_default();
        for name in names.split(|token| token.is(",")) {
            let path: String = name
                .iter()
                .filter(|token| !token.is("(") && !token.is(")"))
                .map(|token| token.text.as_str())
                .collect();
            if path.is_empty() || path.len() > 100 {
                continue;
            }
            let before = if is_item || is_added { self.find(&path) } else { None };
            let new = match before {
                Some(before) if is_item => Known { marks: before.marks | value.marks, ..before },
                Some(before) => before.joined(value.clone(), ""),
                None if is_item => Known { marks: value.marks, ..Known::default() },
                None => value.clone(),
            };
            // Writing a variable of the environment says nothing of the program.
            if path != "os.environ" {
                self.assign(&path, new);
            }
        }
    }

    /// `list.append(value)`: the list has the value's origin too.
    fn mutation(&mut self, tokens: &[PythonToken], marks: Marks) {
        let [name, dot, method, open, ..] = tokens else { return };
        let is_mutation = dot.is(".")
            && open.is("(")
            && matches!(
                method.text.as_str(),
                "append" | "update" | "extend" | "add" | "write" | "insert"
            );
        if is_mutation && marks != Marks::NONE && name.kind == TokenKind::Name {
            let before = self.find(&name.text).unwrap_or_default();
            self.assign(&name.text, Known { marks: before.marks | marks, ..before });
        }
    }

    /// Reads a program that is a text of this program.
    pub(crate) fn nested(&mut self, text: &str, line: usize) {
        if self.depth >= MAX_NESTED || !self.spend(text.len().saturating_mul(4)) {
            self.leave_out("programs within programs");
            return self.tell(DYNAMIC_CODE, line);
        }
        let (mut tokens, is_whole) = tokens_of(text);
        if !is_whole {
            self.leave_out("more tokens than are read");
        }
        tokens.iter_mut().for_each(|token| token.line = line);
        self.depth = self.depth.saturating_add(1);
        let scopes = std::mem::take(&mut self.scopes);
        self.statements(&tokens);
        self.scopes = scopes;
        self.depth = self.depth.saturating_sub(1);
    }
}

/// True for `with (a as b, c as d):`, whose brackets hold all of it.
fn is_in_brackets(tokens: &[PythonToken]) -> bool {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().filter(|(_, one)| one.kind == TokenKind::Operator)
    {
        match token.text.as_str() {
            "(" | "[" | "{" | "f(" => depth = depth.saturating_add(1),
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            let next = tokens.get(at.saturating_add(1));
            return at > 0 && next.is_some_and(|next| next.is(":"));
        }
    }
    false
}

/// `a.b as c`: the module and its other name.
fn module_and_alias(part: &[PythonToken]) -> (String, Option<String>) {
    let at = part.iter().position(|token| token.is("as")).unwrap_or(part.len());
    let module = part.iter().take(at).map(|token| token.text.as_str()).collect();
    (module, part.get(at.saturating_add(1)).map(|token| token.text.clone()))
}
