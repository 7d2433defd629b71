//! Makes memory images: interpreters that have imported what most programs need, kept as files.
//!
//! An image is made by running the guest's own Python once on the engine's cold memory. It takes
//! seconds and no compilation, so a changed guest package or another set of imports is cheap.
//! Images lie in the engine's cache, under a key of everything that decides their content.
//!
//! # The hash secret
//!
//! Python's string hashes cannot change once strings were hashed, so their secret is part of an
//! image. The engine ignores its environment and would take a secret that everybody knows, with
//! which collisions can be prepared; so the secret is put in place before the interpreter starts.
//!
//! INVARIANT(hash-secret): it is drawn at random, once for all images in a cache: every deployment
//! has its own, and a program sees the same hashes whichever image it begins as. A running server
//! draws it anew after `images.max_age` and makes all images again, one after another.

mod error;
mod key;
mod locking;
mod secret;
mod source;
mod store;

pub use crate::image_builder::error::ImageError;
pub use crate::image_builder::store::{ImageStore, LARGEST_IMAGE};
