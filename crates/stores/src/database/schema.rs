//! The schemas of the databases: scripts for each version, applied in their order.

/// The schema of one part of what a server keeps. SQLite has a file for each part.
#[derive(Debug, Clone, Copy)]
pub(in crate::database) struct Schema {
    /// The name of the part.
    pub(in crate::database) part: &'static str,
    /// Scripts that lead from one version to the next. A script that was released never changes;
    /// what is new is appended.
    pub(in crate::database) scripts: &'static [&'static str],
    /// The content of the part, for messages.
    pub(in crate::database) content: &'static str,
    /// How durable a committed change is in SQLite. PostgreSQL syncs each.
    pub(in crate::database) durability: Durability,
}

/// The events that a committed change survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::database) enum Durability {
    /// A kill of the process. A loss of power may undo the last changes; it damages nothing.
    SurvivesKill,
    /// A kill of the process, and a loss of power.
    SurvivesPowerLoss,
}

/// The schema of keys.
pub(in crate::database) const KEYS: Schema = Schema {
    part: "keys",
    scripts: &[
        include_str!("keys/schema.sql"),
        include_str!("keys/schema_2.sql"),
        include_str!("keys/schema_3.sql"),
    ],
    content: "keys",
    durability: Durability::SurvivesPowerLoss,
};

/// The schema of records. A loss of power can lose those of the last moments in SQLite; a kill of the
/// server costs none that was written.
pub(in crate::database) const RECORDS: Schema = Schema {
    part: "records",
    scripts: &[include_str!("records/schema.sql"), include_str!("records/schema_2.sql")],
    content: "records of runs",
    durability: Durability::SurvivesKill,
};

/// The schema of blobs whose content is in an object store.
pub(in crate::database) const BLOBS: Schema = Schema {
    part: "blobs",
    scripts: &[include_str!("blobs/schema.sql")],
    content: "blobs",
    durability: Durability::SurvivesPowerLoss,
};

/// The schema of sessions, which are in SQLite alone. Their cells may be written through a connection
/// that waits for the disk later.
pub(in crate::database) const SESSIONS: Schema = Schema {
    part: "sessions",
    scripts: &[
        include_str!("sqlite/sessions/schema.sql"),
        include_str!("sqlite/sessions/schema_2.sql"),
        include_str!("sqlite/sessions/schema_3.sql"),
    ],
    content: "sessions",
    durability: Durability::SurvivesPowerLoss,
};

impl Schema {
    /// The version that this program works with: the number of scripts.
    #[must_use]
    pub(in crate::database) fn version(&self) -> i64 {
        i64::try_from(self.scripts.len()).unwrap_or(i64::MAX)
    }
}
