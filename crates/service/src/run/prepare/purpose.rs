//! Why a run exists.

/// The reason why a run exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunPurpose {
    /// A caller asked for it. Logged at `info`.
    Call,
    /// It compiles a skill for later runs. Logged at `debug`.
    Compilation,
    /// It tests the isolation of the sandbox. Logged at `debug`.
    SelfTest,
}

/// Whether skills without bytecode are compiled before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bytecode {
    /// They are compiled, since later runs use the bytecode too.
    Compiled,
    /// They are not compiled, since there are no later runs.
    AsItIs,
    /// No bytecode is used, not even that of packages that are compiled already, so that the run
    /// does not depend on it.
    Never,
}
