//! Makes memory images: interpreters that have already imported common packages, kept as files.
//!
//! An image is made by running the guest's own Python once on the engine's cold memory. That takes
//! seconds and needs no compilation, so a changed guest package or another set of imports is cheap.
//! Images lie in the engine's cache, under a key of everything that decides their content.
//!
//! # The hash secret
//!
//! Python's string hashes cannot change once strings were hashed, so their secret is part of an
//! image. The engine ignores `PYTHONHASHSEED` and would use a publicly known secret, with which
//! collisions can be prepared. So the secret is written into memory before the interpreter starts.
//!
//! INVARIANT(hash-secret): the secret is drawn at random, once for all images in a cache. Every
//! deployment has its own, and a program sees the same hashes in every image. A running server
//! draws another secret after `images.max_age` and makes all images again, one after another.
//! Tenants that the operator names have a base image with their own secret, which is derived from
//! that of the cache and replaced with it.
//!
//! # The image of reproducible runs
//!
//! It is made with a fixed secret, a fixed time and fixed randomness. Nothing of the machine, the
//! folders or the user enters it, so every machine makes the same bytes from the same engine. A
//! program that uses the known secret to prepare collisions slows down no run but its own.
//!
//! # Images with batteries
//!
//! An image with a [group of batteries](wardian_images::PackageSet::OF_BATTERIES) has modules whose files
//! are in the layer of the batteries, at the path at which every run has it. It is made with that layer,
//! whose digest is part of its key, and only runs that mount the layer may begin as it. Other packages
//! do not see the batteries while an image is made, so they are the same in all images.

mod batteries;
mod error;
mod key;
mod locking;
mod secret;
mod source;
mod store;

pub use crate::batteries::Batteries;
pub use crate::error::ImageError;
pub use crate::store::{ImageStore, LARGEST_IMAGE};
