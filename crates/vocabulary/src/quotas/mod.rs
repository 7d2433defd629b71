//! The shares of tenants: the limits that an operator sets for each tenant, the rate of its calls,
//! and its part of a resource that all tenants use.
//!
//! Knows nothing of runs, workers, networks or HTTP.
//!
//! | file        | purpose                                                                     |
//! | ----------- | --------------------------------------------------------------------------- |
//! | `limits.rs` | the limits of each tenant                                                    |
//! | `rates.rs`  | counts calls against the rate of their tenant                               |
//! | `share.rs`  | permits for a resource, such as connections, shared fairly between tenants   |

mod limits;
mod rates;
mod share;

pub use crate::quotas::limits::{CallRate, DETACHED, TenantLimits, TenantPolicy, TimeQuota};
pub use crate::quotas::rates::{CallRates, TooManyCalls};
pub use crate::quotas::share::{FairShare, SharePermit};
