//! The limits that calls can set, and the values that a server accepts for them.

/// A limit of a run that a call can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Time, in milliseconds.
    Timeout,
    /// Instructions.
    Fuel,
    /// Memory, in bytes.
    Memory,
    /// Size of all files of the workspace, in bytes.
    Workspace,
    /// Host calls.
    HostCalls,
}

/// The values of one limit that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Smallest value.
    pub least: u64,
    /// Largest value; `None` if there is none.
    pub most: Option<u64>,
}

impl Bounds {
    /// Any positive integer.
    pub const ANY: Self = Self { least: 1, most: None };

    /// Integers between these two.
    #[must_use]
    pub const fn between(least: u64, most: u64) -> Self {
        Self { least, most: Some(most) }
    }

    /// True if a call may set the value.
    #[must_use]
    pub fn allow(self, value: u64) -> bool {
        value >= self.least && self.most.is_none_or(|most| value <= most)
    }

    /// Describes the values, as the end of a sentence that begins with "must be".
    #[must_use]
    pub fn expectation(self) -> String {
        match self {
            Self { least, most: Some(most) } => format!("an integer between {least} and {most}"),
            Self { least, most: None } => format!("an integer of at least {least}"),
        }
    }
}

/// The values of all limits that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitBounds {
    /// Of [`Limit::Timeout`].
    pub timeout: Bounds,
    /// Of [`Limit::Fuel`].
    pub fuel: Bounds,
    /// Of [`Limit::Memory`].
    pub memory: Bounds,
    /// Of [`Limit::Workspace`].
    pub workspace: Bounds,
    /// Of [`Limit::HostCalls`].
    pub host_calls: Bounds,
}

impl LimitBounds {
    /// The bounds of a server that does not know its own yet: any positive integer.
    pub const ANY: Self = Self {
        timeout: Bounds::ANY,
        fuel: Bounds::ANY,
        memory: Bounds::ANY,
        workspace: Bounds::ANY,
        host_calls: Bounds::ANY,
    };

    /// The bounds of one limit.
    #[must_use]
    pub const fn of(&self, limit: Limit) -> Bounds {
        match limit {
            Limit::Timeout => self.timeout,
            Limit::Fuel => self.fuel,
            Limit::Memory => self.memory,
            Limit::Workspace => self.workspace,
            Limit::HostCalls => self.host_calls,
        }
    }
}
