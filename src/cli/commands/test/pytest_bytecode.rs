//! The bytecode of pytest, of its plugins and of what they import.
//!
//! Reproducible runs use no bytecode that a machine keeps: it would be an input that nobody sees. For
//! tests it is an input, a blob like the files of their project. A reproducible run makes it, which sees
//! the engine and the batteries and no file of a project, so that the same ones give the same bytes, and
//! tests use the same fuel wherever the bytes come from. INVARIANT(result-key) holds without them.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::value::RawValue;
use tempfile::NamedTempFile;
use tokio::sync::OnceCell;

use crate::assembly::Runtime;
use crate::cli::commands::blobs::read_blob;
use crate::cli::commands::test::packed_files::PackedFiles;
use crate::cli::commands::test::project::hashed;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;
use wardian_formats::protocol::methods::execution::{
    DEFAULT_EPOCH, ReproducibleParam, RequestedLimits, RunStatus,
};
use wardian_service::{Caller, LocalProgram, LocalRun, sole_tenant};
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// The program that makes it.
const MAKER: &str = include_str!("pytest_bytecode.py");

/// The file in the cache folder. There is one: another engine or program replaces it.
pub(crate) const FILE: &str = "pytest.bytecode";

/// Maximum number of bytes. pytest and the plugins among the batteries have seven million.
pub(crate) const MAX_BYTECODE: ByteCount = ByteCount::mebibytes(64);

/// The time after which the run that makes it is stopped, in milliseconds: twenty times what it takes.
pub(crate) const MAKING_MS: u64 = 120_000;

/// What that program returns.
#[derive(Deserialize)]
struct Made {
    blob: Option<String>,
}

/// Where the bytecode is kept, and for which engine and program.
#[derive(Debug)]
struct Keeping {
    folder: PathBuf,
    key: String,
}

/// The bytecode for all files of a command, made when the first one needs it.
#[derive(Debug, Default)]
pub(crate) struct PytestBytecode {
    keeping: OnceLock<Keeping>,
    found: OnceCell<Option<Arc<PackedFiles>>>,
}

impl PytestBytecode {
    /// Keeps it in a folder from now on, under a key that names all it is made from.
    pub(crate) fn keep_in(&self, folder: &Path, key: String) {
        drop(self.keeping.set(Keeping { folder: folder.to_owned(), key }));
    }

    /// The bytecode: what is kept, or what a run makes. `None` if there is none, so that each file
    /// compiles pytest itself.
    pub(crate) async fn find(&self, runtime: &Runtime) -> Option<Arc<PackedFiles>> {
        let found = self.found.get_or_init(|| async {
            if let Some(kept) = self.keeping.get().and_then(Keeping::find) {
                return Some(Arc::new(PackedFiles::new(kept)));
            }
            match made(runtime).await {
                Ok(made) => {
                    let made = made.map(PackedFiles::new)?;
                    if let Some(Err(fault)) = self.keeping.get().map(|one| one.keep(&made)) {
                        note(&format!(
                            "warning: bytecode cannot be stored in the cache folder: {fault}"
                        ));
                    }
                    Some(Arc::new(made))
                }
                Err(failed) => {
                    note(&format!("warning: pytest is compiled again for each file: {failed}"));
                    None
                }
            }
        });
        found.await.clone()
    }
}

impl Keeping {
    /// The bytecode in the file, if it is whole and of this key.
    fn find(&self) -> Option<Vec<u8>> {
        let path = self.folder.join(FILE);
        if !path.symlink_metadata().ok()?.is_file() {
            return None;
        }
        let mut content = Vec::new();
        let most = MAX_BYTECODE.as_u64().saturating_add(1_000);
        File::open(path).ok()?.take(most).read_to_end(&mut content).ok()?;
        let end = content.iter().position(|byte| *byte == b'\n')?;
        let start = end.checked_add(1)?;
        let sum = self.sum(&hashed(content.get(start..)?));
        if content.get(..end)? != sum.as_bytes() {
            return None;
        }
        drop(content.drain(..start));
        Some(content)
    }

    fn keep(&self, made: &PackedFiles) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(self.sum(&made.digest).as_bytes())?;
        file.write_all(b"\n")?;
        file.write_all(&made.content)?;
        file.persist(self.folder.join(FILE)).map(drop).map_err(|fault| fault.error)
    }

    /// The first line of the file. Bytecode of another key is as good as none.
    fn sum(&self, digest: &str) -> String {
        hashed(format!("{}\n{digest}", self.key).as_bytes())
    }
}

/// Runs pytest once and takes what it leaves; `None` if pytest is not on this machine.
async fn made(runtime: &Runtime) -> Result<Option<Vec<u8>>, Failed> {
    let place = runtime.with_own_blobs(MAX_BYTECODE)?;
    let program =
        LocalProgram::File { source: MAKER.to_owned(), file_name: "pytest_bytecode.py".to_owned() };
    let request = LocalRun {
        entrypoint: Some("main".to_owned()),
        args: RawValue::from_string("{}".to_owned())
            .map_err(|fault| Failed::at("write the arguments", &fault))?,
        limits: RequestedLimits { timeout_ms: Some(MAKING_MS), ..RequestedLimits::default() },
        // Tests with another seed have the same bytecode.
        reproducible: Some(ReproducibleParam::Inputs {
            seed: 0,
            epoch: DEFAULT_EPOCH,
            cache: false,
        }),
        ..LocalRun::new(program)
    };
    let ended = place.service.run_file(&Caller::local("test"), request).await?;
    if ended.result.status == RunStatus::Failed {
        return Err(Failed::because(ended.result.summary.clone()));
    }
    let output = ended.result.output.as_ref().map_or("", |output| output.get());
    let made: Made =
        serde_json::from_str(output).map_err(|fault| Failed::at("read the blob's id", &fault))?;
    let Some(id) = made.blob else { return Ok(None) };
    let id = BlobId::parse(&id)?;
    if place.blobs.stat(&sole_tenant(), &id)?.size > MAX_BYTECODE {
        return Err(Failed::because("the bytecode is too large"));
    }
    read_blob(&place.blobs, &id).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytecode_is_found_if_it_is_whole_and_of_the_same_key() {
        let folder = tempfile::tempdir().unwrap();
        let keeping = |key: &str| Keeping { folder: folder.path().join("a"), key: key.to_owned() };
        assert_eq!(keeping("k").find(), None);
        let made = PackedFiles::new(b"[]\nabc\n".to_vec());
        keeping("k").keep(&made).unwrap();
        assert_eq!(keeping("k").find(), Some(made.content.clone()));
        assert_eq!(keeping("other").find(), None, "of another engine");
        let path = folder.path().join("a").join(FILE);
        let whole = fs::read(&path).unwrap();
        let mut forged = whole.clone();
        *forged.last_mut().unwrap() ^= 1;
        for broken in [&whole[..whole.len() - 1], &forged[..], b"", b"\n", b"x"] {
            fs::write(&path, broken).unwrap();
            assert_eq!(keeping("k").find(), None);
        }
        keeping("k").keep(&made).unwrap();
        assert!(keeping("k").find().is_some(), "a broken file is replaced");
    }
}
