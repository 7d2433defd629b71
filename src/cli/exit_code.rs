//! The exit codes of the program.

use std::process::ExitCode;

/// The exit codes; `wardian --help` promises them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command has succeeded.
    Done,
    /// The program failed, the skill has errors, or the repetition of a run differs from its
    /// document.
    GuestFailed,
    /// The arguments or the configuration are wrong.
    WrongUsage,
    /// Wardian or the machine failed.
    OurFault,
    /// Ctrl-C ended a command that runs programs. Shells use this code for it.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::GuestFailed => 1,
            Exit::WrongUsage => 2,
            Exit::OurFault => 3,
            Exit::Interrupted => 130,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_as_promised() {
        for (exit, code) in [
            (Exit::Done, 0),
            (Exit::GuestFailed, 1),
            (Exit::WrongUsage, 2),
            (Exit::OurFault, 3),
            (Exit::Interrupted, 130),
        ] {
            assert_eq!(
                format!("{:?}", ExitCode::from(exit)),
                format!("{:?}", ExitCode::from(code))
            );
        }
    }
}
