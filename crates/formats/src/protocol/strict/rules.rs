//! The rules of strict JSON and their errors.

/// Deepest nesting of arrays and objects, counted from the body itself. Deep nesting is an attack
/// on recursive parsers, the guest's among them. Real arguments stay below ten levels.
pub const MAX_DEPTH: usize = 64;

/// The path of the outermost value in errors.
pub const ROOT: &str = "body";

/// Maximum number of members of one object. The check for duplicate names needs memory for each
/// member, so without a limit a body full of members would cost many times its own size.
pub(crate) const MAX_MEMBERS: usize = 100_000;

/// The reason why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StrictError {
    /// The text is empty.
    #[error("the body is empty")]
    Empty,
    /// The bytes are not UTF-8.
    #[error("byte {offset} is not valid UTF-8")]
    NotUtf8 {
        /// The position, counted from 0.
        offset: usize,
    },
    /// The text is not JSON.
    #[error("byte {offset}: expected {expected}")]
    Syntax {
        /// The position, counted from 0.
        offset: usize,
        /// The expected text.
        expected: &'static str,
    },
    /// An escape that is half of a surrogate pair.
    #[error("byte {offset}: expected a pair of surrogates that is one character")]
    LoneSurrogate {
        /// The position, counted from 0.
        offset: usize,
    },
    /// The text is nested too deeply.
    #[error("byte {offset}: nested more than {MAX_DEPTH} levels deep")]
    TooDeep {
        /// The position, counted from 0.
        offset: usize,
    },
    /// Two members of one object have the same name.
    #[error("member `{path}` appears twice")]
    DuplicateMember {
        /// The path of the member.
        path: String,
    },
    /// An object has too many members.
    #[error("`{path}` is one member too many: an object may have at most {MAX_MEMBERS}")]
    TooManyMembers {
        /// The path of the first member beyond the limit.
        path: String,
    },
    /// A number that does not fit into 64 bits.
    #[error("the number at `{path}` does not fit into 64 bits; send it as a string")]
    NumberTooLarge {
        /// The path of the number.
        path: String,
    },
}

impl StrictError {
    /// True if the text is not JSON; false if it is JSON that a further rule refuses.
    #[must_use]
    pub const fn is_syntax(&self) -> bool {
        matches!(
            self,
            Self::Empty
                | Self::NotUtf8 { .. }
                | Self::Syntax { .. }
                | Self::LoneSurrogate { .. }
                | Self::TooDeep { .. }
        )
    }
}

/// The type of the outermost value of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootKind {
    /// An object.
    Object,
    /// An array of this many elements.
    Array(usize),
    /// A string, a number, a boolean or null.
    Scalar,
}

/// The rules that differ between requests and outputs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Maximum number of members of one object.
    pub members: usize,
    pub numbers: Numbers,
}

impl Rules {
    pub(crate) const REQUEST: Self = Self { members: MAX_MEMBERS, numbers: Numbers::Exact };
    pub(crate) const OUTPUT: Self = Self { members: usize::MAX, numbers: Numbers::Finite };
}

/// The allowed numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Numbers {
    /// Integers of 64 bits, signed or unsigned, and other numbers that are finite as a double.
    Exact,
    /// Numbers that are finite as a double.
    Finite,
}

impl Numbers {
    pub(super) fn allow(self, number: &str, is_integer: bool) -> bool {
        match self {
            // 18 characters always fit.
            Self::Exact if is_integer => {
                number.len() <= 18 || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok()
            }
            // 300 digits without an exponent are always finite.
            Self::Exact | Self::Finite => {
                let is_short = number.len() <= 300 && !number.contains(['e', 'E']);
                is_short || number.parse::<f64>().is_ok_and(f64::is_finite)
            }
        }
    }
}
