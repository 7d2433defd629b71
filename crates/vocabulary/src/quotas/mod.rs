//! The shares of tenants: the limits that an operator sets for each tenant, the rate of its calls, the
//! time that its runs used, and its part of a resource that all tenants use.
//!
//! Knows nothing of runs, workers, networks or HTTP. Everything that is counted against a limit of a
//! tenant over time is counted here, in the memory of one server. Servers that share their tenants
//! would exchange these counts, and nothing else.
//!
//! | file           | purpose                                                                     |
//! | -------------- | --------------------------------------------------------------------------- |
//! | `limits.rs`    | the limits of each tenant                                                    |
//! | `rates.rs`     | counts calls against the rate of their tenant                               |
//! | `used_time.rs` | counts time of workers and of processors against the quotas of a tenant     |
//! | `share.rs`     | permits for a resource, such as connections, shared fairly between tenants   |

mod limits;
mod rates;
mod share;
mod used_time;

pub use crate::quotas::limits::{CallRate, DETACHED, TenantLimits, TenantPolicy, TimeQuota};
pub use crate::quotas::rates::{CallRates, TooManyCalls};
pub use crate::quotas::share::{FairShare, SharePermit};
pub use crate::quotas::used_time::{TenantTime, ratio};
