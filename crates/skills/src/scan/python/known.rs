//! What is known of a value of a program that is not run: its dotted name, its text, its origin.

use std::ops::BitOr;

/// Most bytes of a text that is put together.
const MAX_TEXT: usize = 16 << 10;

/// Most members of a list that are kept.
const MAX_MEMBERS: usize = 1_024;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks(u8);

impl Marks {
    pub(crate) const NONE: Self = Self(0);
    /// From the network.
    pub(crate) const DOWNLOADED: Self = Self(1);
    /// Decoded, unpacked or put together from numbers.
    pub(crate) const DECODED: Self = Self(2);
    /// A file of credentials, or its path.
    pub(crate) const SECRET: Self = Self(4);
    /// All environment variables.
    pub(crate) const ENVIRONMENT: Self = Self(8);
    /// The name of a function was put together.
    pub(crate) const COMPOSED: Self = Self(16);

    /// One variable that is named like a secret.
    pub(crate) const VARIABLE: Self = Self(32);

    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Marks {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What is known of a value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// The dotted name that it stands for, such as `os.system`; empty if there is none.
    pub(crate) path: String,
    /// Its text; parts that are not known are missing.
    pub(crate) text: Option<String>,
    /// True if the whole text is known.
    pub(crate) is_whole: bool,
    /// The texts and numbers of a list.
    pub(crate) members: Vec<String>,
    pub(crate) marks: Marks,
}

impl Known {
    pub(crate) fn named(path: &str) -> Self {
        Self { path: path.to_owned(), ..Self::default() }
    }

    pub(crate) fn text(text: String) -> Self {
        Self { text: Some(text), is_whole: true, ..Self::default() }
    }

    /// The text, or the members as words of a command.
    pub(crate) fn command(&self) -> Option<String> {
        let joined = || (!self.members.is_empty()).then(|| self.members.join(" "));
        self.text.clone().or_else(joined)
    }

    pub(crate) fn push_member(&mut self, member: &Self) {
        self.marks = self.marks | member.marks;
        if let Some(text) = member.text.as_ref().filter(|_| self.members.len() < MAX_MEMBERS) {
            self.members.push(text.clone());
        }
    }

    /// The value of an f-string: its parts are added already.
    pub(crate) fn members_as_text(self) -> Self {
        let text = self.text.or_else(|| Some(String::new()));
        Self { text, path: String::new(), ..self }
    }

    /// `self + other`, with `between` in the middle: `/` for paths.
    pub(crate) fn joined(self, other: Self, between: &str) -> Self {
        let is_whole = self.is_whole && other.is_whole;
        let text = match (self.text, other.text) {
            (None, None) => None,
            (one, other) => {
                let mut text = one.unwrap_or_default();
                let rest = other.unwrap_or_default();
                if text.len().saturating_add(rest.len()) < MAX_TEXT {
                    if !text.ends_with(between) || between.is_empty() {
                        text.push_str(between);
                    }
                    text.push_str(&rest);
                }
                Some(text)
            }
        };
        let mut members = self.members;
        let room = MAX_MEMBERS.saturating_sub(members.len());
        members.extend(other.members.into_iter().take(room));
        Self { path: self.path, text, is_whole, members, marks: self.marks | other.marks }
    }
}

/// A dotted name that does not grow without end: `a().b().c()…`.
pub(crate) fn limited(path: String) -> String {
    const MAX_PATH: usize = 200;
    if path.len() <= MAX_PATH { path } else { String::new() }
}
