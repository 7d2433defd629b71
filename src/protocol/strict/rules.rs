//! The refusals of strict JSON, with their reasons.

/// Deepest nesting of arrays and objects, the whole body included. Deep nesting is an attack on
/// recursive readers (the guest's own among them); real arguments stay below ten.
pub const MAX_DEPTH: usize = 64;

/// How an error names the place of the outermost value.
pub(crate) const ROOT: &str = "body";

/// Most members of one object. Comparing their names costs memory, so a body of nothing but
/// members would otherwise cost many times its own size.
pub const MAX_MEMBERS: usize = 100_000;

/// The reason why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrictError {
    /// Nothing there.
    #[error("the body is empty")]
    Empty,
    /// Bytes that are no UTF-8.
    #[error("byte {offset} is not valid UTF-8")]
    NotUtf8 {
        /// The position, counted from 0.
        offset: usize,
    },
    /// Not JSON.
    #[error("byte {offset}: expected {expected}")]
    Syntax {
        /// The position, counted from 0.
        offset: usize,
        /// The expected text.
        expected: &'static str,
    },
    /// An escape that stands for half a character.
    #[error("byte {offset}: expected a pair of surrogates that is one character")]
    LoneSurrogate {
        /// The position, counted from 0.
        offset: usize,
    },
    /// Nested too deeply.
    #[error("byte {offset}: nested more than {MAX_DEPTH} levels deep")]
    TooDeep {
        /// The position, counted from 0.
        offset: usize,
    },
    /// Two members of one object have the same name.
    #[error("member `{path}` appears twice")]
    DuplicateMember {
        /// The member, from the top of the body.
        path: String,
    },
    /// An object has too many members.
    #[error("`{path}` is one member too many: an object may have {MAX_MEMBERS}")]
    TooManyMembers {
        /// The first member beyond the limit.
        path: String,
    },
    /// A number that 64 bits cannot hold.
    #[error("the number at `{path}` does not fit into 64 bits; send it as a string")]
    NumberTooLarge {
        /// The number, from the top of the body.
        path: String,
    },
}

impl StrictError {
    /// True if the text is no JSON at all; false if it is JSON that we refuse.
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

/// The sort of the outermost value of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootKind {
    /// An object.
    Object,
    /// An array of this many elements.
    Array(usize),
    /// Anything else.
    Scalar,
}

/// Rules that are not the same for all texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Most members of one object.
    pub(crate) members: usize,
    pub(crate) numbers: Numbers,
}

impl Rules {
    pub(crate) const REQUEST: Self = Self { members: MAX_MEMBERS, numbers: Numbers::Exact };
    pub(crate) const OUTPUT: Self = Self { members: usize::MAX, numbers: Numbers::Finite };
}

/// The allowed numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Numbers {
    /// Those whose value (of an integer) or size (of any other) 64 bits keep.
    Exact,
    /// Those that a double does not take for infinite.
    Finite,
}

impl Numbers {
    pub(crate) fn allow(self, number: &str, is_integer: bool) -> bool {
        match self {
            // 18 digits always fit.
            Self::Exact if is_integer => {
                number.len() <= 18 || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok()
            }
            // 300 digits without an exponent always do.
            Self::Exact | Self::Finite => {
                let is_short = number.len() <= 300 && !number.contains(['e', 'E']);
                is_short || number.parse::<f64>().is_ok_and(f64::is_finite)
            }
        }
    }
}
