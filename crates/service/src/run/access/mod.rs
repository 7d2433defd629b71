//! What a run may reach: the network and secrets.

pub(crate) mod network;
pub(crate) mod network_record;
pub(crate) mod redaction;
pub(crate) mod secret_injection;
pub(crate) mod secrets;
