//! Where the engine comes from: what is trusted, and how it is fetched.

pub mod fetch;
pub mod pin;
