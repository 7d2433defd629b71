//! The waiting runs of all tenants, and whose is next.
//!
//! | file            | purpose                                                                  |
//! | --------------- | ------------------------------------------------------------------------ |
//! | `virtual_time.rs` | the position of a tenant among the others                              |
//! | `tenant_account.rs` | the runs of one tenant, waiting and in progress                       |
//! | `fair_queue.rs` | all waiting runs, fair between tenants                                   |
//! | `order.rs`      | the run that is next, and where a tenant begins to wait                  |

pub(crate) mod fair_queue;
mod order;
pub(crate) mod tenant_account;
mod virtual_time;
