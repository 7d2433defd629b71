//! The statements that the rules ask for, and what follows their answers.

/// Runs to be claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimOrder<K> {
    /// The epoch of this server.
    pub epoch: u64,
    /// Most runs to claim.
    pub most: usize,
    /// Runs that are left to others.
    pub except: Vec<K>,
    /// True if an earlier claim had no answer: all runs that this server has claimed are to be looked up in place of
    /// claiming more.
    pub is_unsure: bool,
}

/// Runs to be begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeginOrder<K> {
    /// The epoch of this server.
    pub epoch: u64,
    /// The runs.
    pub runs: Vec<K>,
}

/// Runs to be given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GiveBackOrder<K> {
    /// The epoch of this server.
    pub epoch: u64,
    /// The runs.
    pub runs: Vec<K>,
}

/// A statement of which it is not known whether it was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementUnanswered;

/// What a begin has decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided<K> {
    /// Runs that this server executes from now on.
    pub execute: Vec<K>,
    /// Runs that it never executes: they were ended, or its epoch was.
    pub dropped: Vec<K>,
}

/// The runs that a server has lost with its epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost<K> {
    /// Those that it had claimed and not begun: they wait again.
    pub dropped: Vec<K>,
    /// Those that it executes: they are over for everybody else.
    pub stopped: Vec<K>,
}

impl<K> Default for Decided<K> {
    fn default() -> Self {
        Self { execute: Vec::new(), dropped: Vec::new() }
    }
}
