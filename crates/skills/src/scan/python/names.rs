//! What one reading of a file knows: its names, and the functions of all files.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use crate::scan::finding::{Notes, ScanRule};
use crate::scan::python::cursor::PassedValue;
use crate::scan::python::known::{Known, Marks};
use crate::scan::python::rules::is_network;

/// Most bytes that are copied while one file is read once. Beyond it, values are not followed.
pub(crate) const MAX_WORK: usize = 32 << 20;

/// Most bytes that are copied for all files of a skill.
pub(crate) const MAX_WORK_OF_ALL: usize = 128 << 20;

/// Most functions around a statement in which a name is looked for.
const MAX_OUTER: usize = 4;

/// A function of any file of the skill, by its name alone.
#[derive(Debug, Default)]
pub(crate) struct Function {
    pub(crate) parameters: Vec<String>,
    given: HashMap<String, Marks>,
    result: Known,
}

/// Where Python stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PythonPlace {
    /// A program of its own.
    Program,
    /// A block in a text: what it prints is for the model that reads the text.
    Example,
}

/// What a file does as a whole.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) gives_shell: Option<usize>,
    pub(crate) uses_sockets: bool,
    /// Names of files that were downloaded.
    pub(crate) downloads: Vec<String>,
    /// A text that a reader cannot read stands in the file.
    pub(crate) has_payload: bool,
    /// Why a part of the file was not looked at.
    pub(crate) left_out: Option<&'static str>,
}

/// Functions of all files, by name.
pub(crate) type Functions = HashMap<String, Function>;

/// One reading of one file.
pub(crate) struct PythonReading<'f> {
    pub(crate) notes: &'f mut Notes,
    pub(crate) names: HashMap<String, Known>,
    pub(crate) functions: &'f mut Functions,
    pub(crate) own_modules: &'f HashSet<String>,
    pub(crate) imported: HashSet<String>,
    /// The functions around a statement, with their indents.
    pub(crate) scopes: Vec<(usize, String)>,
    pub(crate) lines: &'f [&'f str],
    pub(crate) facts: Facts,
    pub(crate) tells: bool,
    /// Bytes that were copied, and how many may be.
    pub(crate) work: Cell<usize>,
    pub(crate) most_work: usize,
    pub(crate) depth: usize,
    pub(crate) statements_open: usize,
    pub(crate) brackets_open: usize,
    pub(crate) shown: PythonPlace,
}

impl PythonReading<'_> {
    fn key(&self, name: &str) -> String {
        let scope = self.scopes.last().map_or("", |(_, scope)| scope.as_str());
        if name.starts_with("self.") { format!("\n{name}") } else { format!("{scope}\n{name}") }
    }

    pub(crate) fn assign(&mut self, name: &str, value: Known) {
        self.keep(self.key(name), value);
    }

    pub(crate) fn assign_global(&mut self, name: &str, value: Known) {
        self.keep(format!("\n{name}"), value);
    }

    /// Keeps what is known of a name; beyond the bound only where it comes from.
    fn keep(&mut self, key: String, value: Known) {
        let value = value.cut();
        let value = if self.spend(value.size()) {
            value
        } else {
            Known { marks: value.marks, ..Known::default() }
        };
        self.names.insert(key, value);
    }

    /// Counts bytes that are copied. False if there are too many, so that nothing is followed any more.
    pub(crate) fn spend(&self, bytes: usize) -> bool {
        self.work.set(self.work.get().saturating_add(bytes));
        !self.is_spent()
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.work.get() > self.most_work
    }

    /// Remembers that a part of the file is not looked at.
    pub(crate) fn leave_out(&mut self, reason: &'static str) {
        self.facts.left_out = self.facts.left_out.or(Some(reason));
    }

    /// What is known of a name in the function that is read, or of the file.
    pub(crate) fn find(&self, name: &str) -> Option<Known> {
        if self.is_spent() {
            return None;
        }
        let known = self.names.get(&self.key(name)).or_else(|| {
            let mut outer = self.scopes.iter().rev().skip(1).take(MAX_OUTER);
            let outer = outer.find_map(|(_, scope)| self.names.get(&format!("{scope}\n{name}")));
            outer.or_else(|| self.names.get(&format!("\n{name}")))
        });
        let known = known.cloned().or_else(|| {
            let function = self.functions.get(&self.scopes.last()?.1)?;
            let marks = *function.given.get(name)?;
            Some(Known { marks, ..Known::default() })
        })?;
        self.spend(known.size());
        Some(known)
    }

    pub(crate) fn returned(&mut self, value: Known) {
        let value = value.cut();
        let Some((_, name)) = self.scopes.last() else { return };
        let function = self.functions.entry(name.clone()).or_default();
        let marks = function.result.marks | value.marks.without(Marks::COMPOSED);
        let text = if value.is_whole { value.text } else { function.result.text.take() };
        function.result = Known { text, marks, ..Known::default() };
    }

    /// The result of a function of the skill. Remembers what it is given.
    pub(crate) fn own_function(&mut self, path: &str, arguments: &[PassedValue]) -> Option<Known> {
        let (top, name) = (path.split('.').next()?, path.rsplit('.').next()?);
        if self.imported.contains(top)
            || path.starts_with("str.")
            || path.contains("()") && is_network(path)
        {
            return None;
        }
        let function = self.functions.get_mut(name)?;
        for (at, argument) in arguments.iter().enumerate() {
            let by_place = function.parameters.get(at).cloned().unwrap_or_default();
            let name = if argument.name.is_empty() { by_place } else { argument.name.clone() };
            let given = function.given.entry(name).or_default();
            *given = *given | argument.value.marks;
        }
        let size = function.result.size();
        let result = Known { marks: function.result.marks, ..Known::default() };
        if !self.spend(size) {
            return Some(result);
        }
        self.functions.get(name).map(|function| function.result.clone())
    }

    pub(crate) fn tell(&mut self, rule: ScanRule, line: usize) {
        if self.tells {
            let shown = self.lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
            self.notes.note(rule, line, shown);
        }
    }
}
