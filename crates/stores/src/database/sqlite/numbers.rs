//! Numbers as SQLite holds them: 64 bits with a sign.

/// A number as SQLite holds it.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number that SQLite holds.
pub(super) fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
