//! The options of `verify`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// A run record.
    pub(crate) file: PathBuf,
    /// Compare with this record, and execute nothing.
    #[arg(long, value_name = "FILE", conflicts_with = "blobs")]
    pub(crate) against: Option<PathBuf>,
    /// Folder with the blobs and long texts that the record names, under any names; can be given
    /// several times.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) blobs: Vec<PathBuf>,
    /// Print the verdict and the differences as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
