//! Other programs that this one starts: what they must not inherit.

use std::env;
use std::process::Command;

/// Takes the variables of this program from the environment that `command` inherits. Settings are
/// no concern of other programs, and the values of secrets (`WARDIAN_SECRET_*`) must not reach
/// them: a package manager runs code of packages.
pub(crate) fn hide_own_variables(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"WARDIAN_") {
            command.env_remove(name);
        }
    }
}
