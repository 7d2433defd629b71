//! The parameters of `execute_skill` that belong to scripts: which one, and its command line.

use crate::protocol::schema::{Parameter, Shape, Text};

/// Longest path of a script, in characters.
pub const MAX_SCRIPT_PATH: usize = 1_024;

/// Most words of a command line.
pub const MAX_ARGV: usize = 256;

/// Longest word of a command line, in characters: half of what Linux allows.
pub const MAX_ARGV_WORD: usize = 64 << 10;

/// Longest standard input, in characters and in bytes. Larger texts are files.
pub const MAX_STDIN: usize = 1 << 20;

/// Most environment variables that a call sets.
pub const MAX_SCRIPT_ENV: usize = 64;

/// Longest value of such a variable, in bytes.
pub const MAX_SCRIPT_ENV_VALUE: usize = 32 << 10;

/// The parameters, in the order in which they are published.
pub(crate) const SCRIPT: Parameter = Parameter::optional(
    "script",
    Shape::Text(Text::up_to(MAX_SCRIPT_PATH)),
    "Run this Python script of the skill instead of its entrypoint, such as 'scripts/fill_form.py'",
);

pub(crate) const ARGV: Parameter = Parameter::optional(
    "argv",
    Shape::WordList { item: Text::up_to(MAX_ARGV_WORD), max_items: MAX_ARGV },
    "Command line of the script, such as ['in.pdf', 'out.pdf'] or ['--help']",
);

pub(crate) const STDIN: Parameter = Parameter::optional(
    "stdin",
    Shape::Text(Text::up_to(MAX_STDIN)),
    "Text on the standard input of the script",
);

pub(crate) const ENV: Parameter = Parameter::optional(
    "env",
    Shape::AnyObject,
    "Environment variables of the script, of names that the skill declares",
);
