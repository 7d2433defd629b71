//! Numbers as databases hold them: 64 bits with a sign.

/// A number as databases hold it.
pub(in crate::database) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number that a database holds.
pub(in crate::database) fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
