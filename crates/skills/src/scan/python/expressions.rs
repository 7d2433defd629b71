//! Reads expressions and says what is known of their values. Every token is read once.

use crate::scan::python::cursor::{Cursor, PassedValue};
use crate::scan::python::known::{Known, Marks, limited};
use crate::scan::python::names::PythonReading;
use crate::scan::python::rules::marks_of_name;
use crate::scan::python::tokens::TokenKind;

/// Deepest brackets, as many as Python allows; what is deeper is skipped.
const MAX_DEPTH: usize = 200;

/// Deepest brackets of programs within programs together: every bracket takes of the stack.
const MAX_OPEN: usize = 300;

/// Words within expressions that are neither names nor operators with a meaning here.
const WORDS: [&str; 11] =
    ["not", "await", "yield", "and", "or", "in", "is", "if", "else", "from", "async"];

impl PythonReading<'_> {
    /// Reads an expression up to a comma, a closing bracket, a colon or an assignment.
    pub(crate) fn expression(&mut self, cursor: &mut Cursor<'_>) -> Known {
        let mut value: Option<Known> = None;
        let mut operator = "";
        while let Some(token) = cursor.peek() {
            let is_operator = token.kind == TokenKind::Operator;
            match token.text.as_str() {
                "," | ")" | "]" | "}" | ":" | "=" | ":=" if is_operator => break,
                "lambda" if token.kind == TokenKind::Name => {
                    while cursor.next().is_some_and(|token| !token.is(":")) {}
                }
                "for" if token.kind == TokenKind::Name => {
                    cursor.next();
                    if !self.opened(cursor) {
                        continue;
                    }
                    let marks = self.loop_variables(cursor).marks;
                    self.closed(cursor);
                    let so_far = value.take().unwrap_or_default();
                    value = Some(Known { marks: so_far.marks | marks, ..so_far });
                }
                "+" | "/" | "%" | "//" if is_operator => {
                    operator = if token.is("/") {
                        "/"
                    } else if token.is("+") {
                        "+"
                    } else {
                        "%"
                    };
                    cursor.next();
                }
                "(" | "[" | "{" | "f(" if is_operator => {
                    let operand = self.operand(cursor);
                    value = Some(combined(value.take(), operand, operator));
                }
                _ if is_operator
                    || WORDS.contains(&token.text.as_str()) && token.kind == TokenKind::Name =>
                {
                    operator = "";
                    cursor.next();
                }
                _ => {
                    let operand = self.operand(cursor);
                    value = Some(combined(value.take(), operand, operator));
                }
            }
        }
        value.unwrap_or_default()
    }

    /// Reads `x, y in values` after `for`, and gives the variables what is known of the values.
    pub(crate) fn loop_variables(&mut self, cursor: &mut Cursor<'_>) -> Known {
        let mut names = Vec::new();
        while let Some(token) = cursor.next() {
            if token.is("in") {
                break;
            }
            if token.kind == TokenKind::Name {
                names.push(token.text.clone());
            }
        }
        let mut values = self.expression(cursor);
        while cursor.eat(",") {
            let more = self.expression(cursor);
            values.push_member(&more);
        }
        self.noted_sweep(&values, cursor.line());
        let each = Known { marks: values.marks, ..Known::default() };
        names.iter().for_each(|name| self.assign(name, each.clone()));
        values
    }

    /// Reads a value and what follows it: members, calls, subscripts.
    fn operand(&mut self, cursor: &mut Cursor<'_>) -> Known {
        let Some(first) = cursor.next() else { return Known::default() };
        let mut value = match (first.kind, first.text.as_str()) {
            (TokenKind::Text, text) => self.literal(text, cursor),
            (TokenKind::Operator, "f(") => {
                let formatted = self.grouped(cursor, ")");
                let formatted = formatted.members_as_text();
                self.more_text(formatted, cursor)
            }
            (TokenKind::Operator, "(") => self.grouped(cursor, ")"),
            (TokenKind::Operator, "[") => self.grouped(cursor, "]"),
            (TokenKind::Operator, "{") => self.grouped(cursor, "}"),
            (TokenKind::Number, number) => {
                Known { text: Some(number.to_owned()), ..Known::default() }
            }
            (TokenKind::Name, name) => self.named(name),
            _ => Known::default(),
        };
        while let Some(token) = cursor.peek().filter(|token| token.kind == TokenKind::Operator) {
            match token.text.as_str() {
                "." => {
                    cursor.next();
                    let Some(name) = cursor.next() else { break };
                    value = self.member(value, &name.text);
                }
                "(" => {
                    let line = token.line;
                    cursor.next();
                    let arguments = self.arguments(cursor);
                    value = self.call(&value, &arguments, line);
                }
                "[" => {
                    cursor.next();
                    value = self.subscript(value, cursor);
                }
                _ => break,
            }
        }
        value
    }

    /// A text and the texts that follow it directly, which belong to it.
    fn literal(&mut self, text: &str, cursor: &mut Cursor<'_>) -> Known {
        let text = Some(text.to_owned());
        self.more_text(Known { text, is_whole: true, ..Known::default() }, cursor)
    }

    fn more_text(&mut self, mut value: Known, cursor: &mut Cursor<'_>) -> Known {
        while let Some(token) = cursor.peek() {
            let more = match token.kind {
                TokenKind::Text => Known::text(token.text.clone()),
                TokenKind::Operator if token.is("f(") => {
                    cursor.next();
                    let more = self.grouped(cursor, ")").members_as_text();
                    value = value.joined(more, "");
                    continue;
                }
                _ => break,
            };
            cursor.next();
            value = value.joined(more, "");
        }
        self.text_seen(value, cursor.line()).cut()
    }

    /// Counts a bracket that opens. False if there are too many, so that it is skipped.
    fn opened(&mut self, cursor: &mut Cursor<'_>) -> bool {
        if cursor.depth >= MAX_DEPTH || self.brackets_open >= MAX_OPEN {
            self.leave_out("deeper brackets than are read");
            return false;
        }
        cursor.depth = cursor.depth.saturating_add(1);
        self.brackets_open = self.brackets_open.saturating_add(1);
        true
    }

    const fn closed(&mut self, cursor: &mut Cursor<'_>) {
        cursor.depth = cursor.depth.saturating_sub(1);
        self.brackets_open = self.brackets_open.saturating_sub(1);
    }

    /// Reads what is in brackets, up to `close`.
    fn grouped(&mut self, cursor: &mut Cursor<'_>, close: &str) -> Known {
        if !self.opened(cursor) {
            cursor.skip_brackets();
            return Known::default();
        }
        let (mut all, mut count, mut last) = (Known::default(), 0_usize, Known::default());
        let mut has_comma = false;
        while cursor.peek().is_some() && !cursor.eat(close) {
            let before = cursor.at;
            last = self.expression(cursor);
            count = count.saturating_add(1);
            all.push_member(&last);
            if cursor.eat(",") {
                has_comma = true;
            }
            if before == cursor.at || cursor.is(":") || cursor.is("=") || cursor.is(":=") {
                cursor.next();
            }
        }
        self.closed(cursor);
        // Brackets around one value are only brackets.
        if close == ")" && count == 1 && !has_comma { last } else { all }
    }

    fn arguments(&mut self, cursor: &mut Cursor<'_>) -> Vec<PassedValue> {
        let mut arguments = Vec::new();
        if !self.opened(cursor) {
            cursor.skip_brackets();
            return arguments;
        }
        while cursor.peek().is_some() && !cursor.eat(")") {
            let before = cursor.at;
            let name = cursor.starts_argument_name().unwrap_or_default().to_owned();
            if !name.is_empty() {
                cursor.next();
                cursor.next();
            }
            let value = self.expression(cursor);
            arguments.push(PassedValue { name, value });
            cursor.eat(",");
            if before == cursor.at || cursor.is(":") || cursor.is(":=") || cursor.is("]") {
                cursor.next();
            }
        }
        self.closed(cursor);
        arguments
    }

    fn named(&self, name: &str) -> Known {
        match name {
            "True" | "False" | "None" => Known { text: Some(name.to_owned()), ..Known::default() },
            _ => {
                let mut value = self.find(name).unwrap_or_else(|| Known::named(name));
                value.marks = value.marks | marks_of_name(&value.path);
                value
            }
        }
    }

    fn member(&self, value: Known, name: &str) -> Known {
        let path = if value.path.is_empty() && value.text.is_some() {
            format!("str.{name}")
        } else if matches!(value.path.as_str(), "builtins" | "__builtins__") {
            name.to_owned()
        } else {
            format!("{}.{name}", value.path)
        };
        if let Some(known) = self.find(&path) {
            return known;
        }
        let marks = value.marks | marks_of_name(&path);
        Known { path: limited(path), marks, ..value }
    }

    fn subscript(&mut self, value: Known, cursor: &mut Cursor<'_>) -> Known {
        let is_reversed =
            cursor.tokens.get(cursor.at..cursor.at.saturating_add(4)).is_some_and(|four| {
                let words = four.iter().map(|token| token.text.as_str());
                words.eq([":", ":", "-", "1"])
            });
        let line = cursor.line();
        let index = self.grouped(cursor, "]");
        let key = index.members.first().cloned().unwrap_or_default();
        if is_reversed {
            let text = value.text.as_ref().map(|text| text.chars().rev().collect());
            return Known { text, marks: value.marks | Marks::DECODED, ..value };
        }
        if value.path == "os.environ" {
            return self.variable(&key, line);
        }
        // Functions that are found by a text: `globals()["exec"]`.
        let is_table = matches!(
            value.path.as_str(),
            "__builtins__"
                | "builtins.__dict__"
                | "__builtins__.__dict__"
                | "globals()"
                | "locals()"
                | "vars()"
                | "__dict__"
                | "sys.modules"
                | "os.__dict__"
        );
        if is_table && !key.is_empty() {
            let prefix = if value.path.starts_with("os.") { "os." } else { "" };
            let marks = Marks::COMPOSED | index.marks;
            return Known { marks, ..Known::named(&format!("{prefix}{key}")) };
        }
        Known { path: value.path, marks: value.marks, ..Known::default() }
    }
}

fn combined(left: Option<Known>, right: Known, operator: &str) -> Known {
    match (left, operator) {
        (None, _) => right,
        (Some(left), "+") => left.joined(right, ""),
        (Some(left), "/") => left.joined(right, "/"),
        (Some(left), _) => {
            let marks = left.marks | right.marks;
            // `a or b`: either may be the value.
            let text = left.text.or(right.text);
            let path = if left.path.is_empty() { right.path } else { left.path };
            let members = if left.members.is_empty() { right.members } else { left.members };
            Known { path, text, is_whole: false, members, marks }
        }
    }
}
