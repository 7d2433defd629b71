//! What is known of a value of a program that is not run: its dotted name, its text, its origin.

use std::ops::BitOr;

/// Most bytes of a text that is followed.
const MAX_TEXT: usize = 16 << 10;

/// Most members of a list that are kept.
const MAX_MEMBERS: usize = 1_024;

/// Most bytes of a dotted name.
const MAX_PATH: usize = 200;

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
    /// Only a part of its text or list is followed.
    pub(crate) const CUT: Self = Self(64);

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
        let path = if path.len() <= MAX_PATH { path.to_owned() } else { String::new() };
        Self { path, ..Self::default() }
    }

    pub(crate) fn text(text: String) -> Self {
        Self { text: Some(text), is_whole: true, ..Self::default() }.cut()
    }

    /// The value with as much of its text as is followed.
    pub(crate) fn cut(mut self) -> Self {
        if let Some(text) = self.text.as_mut().filter(|text| text.len() > MAX_TEXT) {
            text.truncate(text.floor_char_boundary(MAX_TEXT));
            text.shrink_to_fit();
            self.is_whole = false;
            self.marks = self.marks | Marks::CUT;
        }
        self
    }

    /// The bytes that a copy takes.
    pub(crate) fn size(&self) -> usize {
        let members: usize = self.members.iter().map(|one| one.len().saturating_add(24)).sum();
        let text = self.text.as_ref().map_or(0, String::len);
        text.saturating_add(self.path.len()).saturating_add(members).max(64)
    }

    /// The text, or the members as words of a command.
    pub(crate) fn command(&self) -> Option<String> {
        let joined = || (!self.members.is_empty()).then(|| self.members.join(" "));
        self.text.clone().or_else(joined)
    }

    pub(crate) fn push_member(&mut self, member: &Self) {
        self.marks = self.marks | member.marks;
        let Some(text) = member.text.as_ref() else { return };
        if self.members.len() < MAX_MEMBERS {
            self.members.push(text.clone());
        } else {
            self.marks = self.marks | Marks::CUT;
        }
    }

    /// The value of an f-string: its parts are added already.
    pub(crate) fn members_as_text(self) -> Self {
        let text = self.text.or_else(|| Some(String::new()));
        Self { text, path: String::new(), ..self }
    }

    /// `self + other`, with `between` in the middle: `/` for paths.
    pub(crate) fn joined(self, other: Self, between: &str) -> Self {
        let mut is_whole = self.is_whole && other.is_whole;
        let mut marks = self.marks | other.marks;
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
                } else {
                    is_whole = false;
                    marks = marks | Marks::CUT;
                }
                Some(text)
            }
        };
        let mut members = self.members;
        let room = MAX_MEMBERS.saturating_sub(members.len());
        if other.members.len() > room {
            marks = marks | Marks::CUT;
        }
        members.extend(other.members.into_iter().take(room));
        Self { path: self.path, text, is_whole, members, marks }
    }
}

/// A dotted name that does not grow without end: `a().b().c()…`.
pub(crate) fn limited(path: String) -> String {
    if path.len() <= MAX_PATH { path } else { String::new() }
}
