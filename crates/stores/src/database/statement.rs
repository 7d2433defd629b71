//! A statement and its values, for any database: texts and whole numbers.

use std::borrow::Cow;

/// A value of a statement.
#[derive(Debug, Clone)]
pub(in crate::database) enum Value {
    /// A text, or none.
    Text(Option<String>),
    /// A number, or none.
    Number(Option<i64>),
}

/// How a database names the values of a statement that is built from parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::database) enum Dialect {
    /// All by their place, `?`: SQLite looks for each name among all.
    Sqlite,
    /// `$1`, `$2`, …
    Postgres,
}

/// A statement with its values. Values are `$1`, `$2`, … in a text that is given as a whole.
#[derive(Clone)]
pub(in crate::database) struct Statement {
    text: Cow<'static, str>,
    values: Vec<Value>,
    dialect: Option<Dialect>,
    /// False for one that is hardly ever the same again.
    is_prepared: bool,
}

/// A statement whose text is known as a whole. Databases keep it prepared.
pub(in crate::database) const fn statement(text: &'static str) -> Statement {
    Statement { text: Cow::Borrowed(text), values: Vec::new(), dialect: None, is_prepared: true }
}

impl Statement {
    /// A statement that is built from parts. No part may have a value in it.
    pub(in crate::database) fn building(dialect: Dialect, text: &str) -> Self {
        let text = Cow::Owned(text.to_owned());
        Self { text, values: Vec::new(), dialect: Some(dialect), is_prepared: true }
    }

    /// Adds the next value to a text that names it.
    pub(in crate::database) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Adds a part of the text, which is never a value.
    pub(in crate::database) fn push(&mut self, part: &str) -> &mut Self {
        self.text.to_mut().push_str(part);
        self
    }

    /// Adds the next value, and its place in the text.
    pub(in crate::database) fn push_value(&mut self, value: impl Into<Value>) -> &mut Self {
        self.values.push(value.into());
        match self.dialect {
            Some(Dialect::Sqlite) => self.text.to_mut().push('?'),
            _ => {
                let name = format!("${}", self.values.len());
                self.text.to_mut().push_str(&name);
            }
        }
        self
    }

    /// Adds `VALUES` with a row for each item. The statement is prepared each time.
    pub(in crate::database) fn push_rows<T, const N: usize>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        row: impl Fn(T) -> [Value; N],
    ) -> &mut Self {
        self.is_prepared = false;
        self.push("VALUES ");
        for (at, item) in items.into_iter().enumerate() {
            self.push(if at == 0 { "(" } else { ", (" });
            for (place, value) in row(item).into_iter().enumerate() {
                if place > 0 {
                    self.push(", ");
                }
                self.push_value(value);
            }
            self.push(")");
        }
        self
    }

    /// True if it is worth to keep the statement prepared.
    pub(in crate::database) const fn is_prepared(&self) -> bool {
        self.is_prepared
    }

    /// The text.
    pub(in crate::database) const fn text(&self) -> &Cow<'static, str> {
        &self.text
    }

    /// The values, in their order.
    pub(in crate::database) fn values(&self) -> &[Value] {
        &self.values
    }

    /// The text and the values.
    pub(in crate::database) fn into_parts(self) -> (Cow<'static, str>, Vec<Value>) {
        (self.text, self.values)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_names_of_the_database() {
        for (dialect, expected) in [
            (Dialect::Sqlite, "INSERT INTO t (a, b) VALUES (?, ?), (?, ?) LIMIT ?"),
            (Dialect::Postgres, "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4) LIMIT $5"),
        ] {
            let mut built = Statement::building(dialect, "INSERT INTO t (a, b) ");
            built.push_rows([1, 2], |number: i64| [number.into(), "x".into()]);
            built.push(" LIMIT ").push_value(3);
            assert_eq!((built.text().as_ref(), built.values().len()), (expected, 5));
            assert!(!built.is_prepared());
        }
        assert!(statement("SELECT $1").bind(1).is_prepared());
    }
}
