//! Where skills come from: repositories of git, packages of npm, archives, OCI registries, object stores, and folders. And
//! where they are published: OCI registries, object stores and folders.
//!
//! ```text
//! what the user typed -> source -> git | npm | oci | store | archive | folder -> tree (files in memory, checked)
//!                                   \___ web (requests under the gateway's rules) ___/        |
//!                                                                            discover: folders of skills
//! ```
//!
//! A source is hostile: its bytes are counted, its paths checked, its digests compared, and nothing of it is executed.
//! Knows nothing of skills but the names of the two files that make a folder one, and of their signatures only where they
//! are. Writes nothing to the disk but packages that are published.

mod archive;
mod discover;
mod error;
mod fetch;
mod folder;
pub mod foreign_lock;
mod git;
mod network;
mod npm;
mod oci;
mod package;
mod source;
mod store;
mod tree;
mod web;
mod web_url;

pub use crate::error::SourceError;
pub use crate::fetch::{Fetched, FoundSkill, fetch};
pub use crate::network::WebOptions;
pub use crate::package::{PackagedSkill, Publication, SkillPackage, publish};
pub use crate::source::{NPM_REGISTRY, SkillSource, SourceKind};
pub use crate::store::objects::StoreObjects;
pub use crate::store::settings::{STORE_VARIABLES, StoreSettings};
pub use crate::tree::Tree;
pub use crate::web::Web;
pub use crate::web_url::{UrlCredentials, WebUrl};
