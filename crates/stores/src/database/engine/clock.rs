//! The clock by which leases end.

use std::time::Duration;

use crate::database::engine::database::Database;
use crate::database::numbers::number;
use crate::database::statement::statement;
use crate::database_error::DatabaseError;
use wardian_vocabulary::clock::Clock;

/// The time of a database, in milliseconds since the Unix epoch.
const NOW: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";

/// The clock by which leases end. All servers of a database share it.
#[derive(Debug, Clone, Copy)]
pub(in crate::database) enum LeaseClock {
    /// That of the machine, which has all servers of the file.
    Machine(Clock),
    /// That of the database. The clocks of its servers may differ by hours.
    Database,
}

impl LeaseClock {
    /// The clock of this database.
    pub(in crate::database) const fn of(database: &Database) -> Self {
        match database {
            Database::Sqlite(_) => Self::Machine(Clock::System),
            Database::Postgres(_) => Self::Database,
        }
    }

    /// The time, in milliseconds since the Unix epoch. It is never later than the time at which the next
    /// statement is executed, so a lease is rather too short, and one that has ended is noticed rather late.
    pub(in crate::database) async fn now_ms(
        self,
        database: &Database,
    ) -> Result<i64, DatabaseError> {
        match self {
            Self::Machine(clock) => Ok(milliseconds(clock.now())),
            Self::Database => Ok(database.fetch_one::<(i64,)>(statement(NOW)).await?.0),
        }
    }
}

/// The number of milliseconds in this time.
pub(in crate::database) fn milliseconds(time: Duration) -> i64 {
    number(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
