//! Settings that are tables with names of the operator's choice.

pub(crate) mod tenants;
