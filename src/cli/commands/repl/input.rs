//! What a prompt gets next.

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PromptInput {
    /// A block to execute.
    Block(String),
    /// Ctrl-C, while no cell was running.
    Interrupted,
    /// The end.
    End,
}
