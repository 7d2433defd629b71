//! Support for the tests: real servers, real commands, and clients.

pub(crate) mod cache;
mod client;
mod command;
mod fixture_server;
mod log;
mod matching;
mod object_store;
mod processes;
mod raw;
mod server;
mod skills;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) use client::{Answer, Client, failed, output};
pub(crate) use command::{Command, Ended};
pub(crate) use fixture_server::FixtureServer;
pub(crate) use matching::{contained, matches};
pub(crate) use object_store::ObjectStore;
pub(crate) use processes::Watched;
pub(crate) use raw::{ClientConnectionFacts as Facts, Connection, Reply};
pub(crate) use server::TestServer;
pub(crate) use skills::SkillFolder;

/// The program under test.
pub(crate) const WARDIAN: &str = env!("CARGO_BIN_EXE_wardian");

/// A file or folder of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A program that returns a text of its own as JSON, past what encodes values.
pub(crate) fn returning(json: &str) -> String {
    let bytes = json.escape_default();
    format!(
        "import sys\n\
         door = sys.modules['_wardian.door']\n\
         real = door.call\n\
         door.call = lambda sent: real(b'\\x02' + b'{bytes}') if sent[:1] == b'\\x02' else real(sent)\n"
    )
}

/// Makes a pipe with a name, which nobody reads and nobody writes to.
pub(crate) fn make_pipe(path: &Path) {
    let rights = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rights).unwrap();
}

/// Polls `ask` until it returns a value, for at most `patience`.
pub(crate) fn eventually<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    const PAUSE: Duration = Duration::from_millis(20);
    let deadline = Instant::now() + patience;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "there was no answer within {patience:?}");
        std::thread::park_timeout(PAUSE);
    }
}
