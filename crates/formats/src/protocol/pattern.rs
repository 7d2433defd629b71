//! The patterns of strings in schemas.

use wardian_vocabulary::ids::is_tool_name;

/// The patterns of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// An ASCII identifier of Python.
    Identifier,
    /// Letters, digits and a few signs, without spaces.
    Token,
    /// A letter or `_`, and behind it letters, digits and a few signs.
    ToolName,
}

impl Pattern {
    /// The pattern as a regular expression, for schemas.
    #[must_use]
    pub(crate) const fn regex(self) -> &'static str {
        match self {
            Self::Identifier => "^[A-Za-z_][A-Za-z0-9_]*$",
            Self::Token => "^[A-Za-z0-9._:-]+$",
            Self::ToolName => "^[A-Za-z_][A-Za-z0-9_./-]*$",
        }
    }

    /// The pattern in words, for messages.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Identifier => "an identifier of a-z, A-Z, 0-9 and `_`",
            Self::Token => "a word of a-z, A-Z, 0-9 and `._:-`",
            Self::ToolName => "a name of a-z, A-Z, 0-9 and `_./-`",
        }
    }

    /// True if `text` matches the pattern.
    #[must_use]
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::Identifier => {
                let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
                text.bytes().next().is_some_and(|first| is_letter(&first))
                    && text.bytes().all(|byte| is_letter(&byte) || byte.is_ascii_digit())
            }
            Self::Token => {
                let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
                !text.is_empty() && text.bytes().all(is_sign)
            }
            Self::ToolName => is_tool_name(text),
        }
    }
}
