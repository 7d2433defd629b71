//! The cache of a test process, and commands that nothing of their user's reaches.
//!
//! Tests share the compiled engine of whoever runs them, because compiling takes minutes, and nothing
//! else: no images, layers or results that servers have learnt, no settings, no variables. A *seed*
//! has what `wardian engine install` makes. Each process begins with a cache that refers to the engine
//! and the seed; what it learns stays in that cache, which is removed once the process is gone.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_wardian");

/// The folder of the cache below `XDG_CACHE_HOME`.
const CACHE: &str = "wardian";

/// The cache of this process.
pub(crate) fn own_cache() -> PathBuf {
    own_home().join(CACHE)
}

/// A command of the program with the cache of this process, that reads no settings but those in
/// `folder/none.toml`, which is empty.
pub(crate) fn untouched_command(folder: &Path) -> Command {
    command_with(PROGRAM, own_home(), folder)
}

/// A command of a script of the repository, which starts the program under test: what it starts has the
/// cache of this process and no settings.
pub(crate) fn untouched_script(path: &str, folder: &Path) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let mut command = command_with(script, own_home(), folder);
    command.args(["--wardian", PROGRAM]);
    command
}

fn command_with(program: impl AsRef<OsStr>, home: &Path, folder: &Path) -> Command {
    let config = folder.join("none.toml");
    fs::write(&config, "").unwrap();
    let mut command = Command::new(program);
    let ours = |name: &OsString| name.to_string_lossy().starts_with("WARDIAN_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    command
        .env("WARDIAN_CONFIG", AsRef::<OsStr>::as_ref(&config))
        .env("XDG_CACHE_HOME", home)
        // pip's own cache saves downloads, and changes nothing.
        .env("PIP_CACHE_DIR", dirs::cache_dir().unwrap().join("pip"));
    command
}

/// What `XDG_CACHE_HOME` is for programs of this process.
fn own_home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(make_home)
}

fn make_home() -> PathBuf {
    let place = dirs::cache_dir().unwrap().join("wardian-tests");
    make(&place);
    let lock = File::create(place.join(".lock")).unwrap();
    lock.lock().unwrap();
    remove_old(&place);
    let seed = place.join("seed");
    share_engine(&seed.join(CACHE));
    let ended = command_with(PROGRAM, &seed, &place)
        .args(["engine", "install"])
        .env("WARDIAN_DATA_DIR", seed.join("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    assert!(ended.unwrap().success(), "the engine for the tests cannot be installed");
    let home = place.join(format!("run-{}", std::process::id()));
    let cache = home.join(CACHE);
    share_engine(&cache);
    // An image is made for its cache, and belongs to a secret beside it.
    each_in(&seed.join(CACHE).join("images"), |name, path| {
        make(&cache.join("images"));
        symlink(path, cache.join("images").join(name)).unwrap();
    });
    // A layer must be a file of its own.
    each_in(&seed.join(CACHE).join("layers"), |name, path| {
        make(&cache.join("layers"));
        fs::hard_link(path, cache.join("layers").join(name)).unwrap();
    });
    home
}

/// Refers to the compiled engine of the user.
fn share_engine(cache: &Path) {
    let users = dirs::cache_dir().unwrap().join("wardian");
    make(cache);
    for area in ["engine", "native"] {
        make(&users.join(area));
        match symlink(users.join(area), cache.join(area)) {
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.unwrap(),
        }
    }
}

/// Removes the caches of processes that are gone.
fn remove_old(place: &Path) {
    each_in(place, |name, path| {
        let name = name.to_string_lossy().into_owned();
        let Some(process) = name.strip_prefix("run-") else { return };
        let is_gone = matches!(Path::new("/proc").join(process).try_exists(), Ok(false));
        if is_gone || process == std::process::id().to_string() {
            fs::remove_dir_all(path).unwrap();
        }
    });
}

fn make(folder: &Path) {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).unwrap();
}

fn each_in(folder: &Path, mut act: impl FnMut(&OsStr, &Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.unwrap();
        act(&entry.file_name(), &entry.path());
    }
}
