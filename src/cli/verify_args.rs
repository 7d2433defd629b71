//! The options of `verify` and `bundle`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// A run document, signed or not, a bundle, or the record of a session.
    pub(crate) file: PathBuf,
    /// Compare with this document instead of executing anything.
    #[arg(long, value_name = "FILE", conflicts_with = "blobs")]
    pub(crate) against: Option<PathBuf>,
    /// Folder with the blobs and long texts that the document refers to, under any names; can be
    /// given several times.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) blobs: Vec<PathBuf>,
    /// Public key (PEM, Ed25519) that must have signed the document.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Print the verdict and the differences as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// A run document, signed or not.
    pub(crate) file: PathBuf,
    /// Bundle to write.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Folder with the blobs and long texts that the document refers to, under any names; can be
    /// given several times.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) blobs: Vec<PathBuf>,
}
