//! A place in the tokens of a statement.

use crate::scan::python::known::Known;
use crate::scan::python::tokens::{PythonToken, TokenKind};

/// An argument of a call.
#[derive(Debug)]
pub(crate) struct PassedValue {
    /// Empty for an argument by position.
    pub(crate) name: String,
    pub(crate) value: Known,
}

/// A place in the tokens of a statement.
pub(crate) struct Cursor<'t> {
    pub(crate) tokens: &'t [PythonToken],
    pub(crate) at: usize,
    pub(crate) depth: usize,
}

impl<'t> Cursor<'t> {
    pub(crate) const fn of(tokens: &'t [PythonToken]) -> Self {
        Self { tokens, at: 0, depth: 0 }
    }

    pub(crate) fn peek(&self) -> Option<&'t PythonToken> {
        self.tokens.get(self.at)
    }

    pub(crate) fn next(&mut self) -> Option<&'t PythonToken> {
        let token = self.tokens.get(self.at)?;
        self.at = self.at.saturating_add(1);
        Some(token)
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.peek().is_some_and(|token| token.is(text))
    }

    pub(crate) fn eat(&mut self, text: &str) -> bool {
        let is_there = self.is(text);
        if is_there {
            self.at = self.at.saturating_add(1);
        }
        is_there
    }

    /// The tokens that are left.
    pub(crate) fn rest(&self) -> &'t [PythonToken] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    pub(crate) const fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }

    pub(crate) fn line(&self) -> usize {
        let token = self.peek().or_else(|| self.tokens.last());
        token.map_or(0, |token| token.line)
    }

    pub(crate) fn starts_argument_name(&self) -> Option<&'t str> {
        let name = self.peek().filter(|token| token.kind == TokenKind::Name)?;
        let next = self.tokens.get(self.at.saturating_add(1))?;
        next.is("=").then_some(name.text.as_str())
    }

    /// Skips to the bracket that closes what is open.
    pub(crate) fn skip_brackets(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.next() {
            match token.text.as_str() {
                "(" | "[" | "{" | "f(" if token.kind == TokenKind::Operator => {
                    depth = depth.saturating_add(1);
                }
                ")" | "]" | "}" if token.kind == TokenKind::Operator => {
                    let Some(left) = depth.checked_sub(1) else { return };
                    depth = left;
                }
                _ => {}
            }
        }
    }
}
