//! What a prompt gets next.

/// What is typed for a cell that asks for it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TypedLine {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Nothing more comes.
    End,
}

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
