//! A server in a process of its own, with folders of its own.
//!
//! Dropping a server fails the test unless the server ends with exit code 0 and leaves no worker
//! behind. A test that fails already is told of that and goes on failing: locks cannot be poisoned
//! here, because a second panic would end the process with all other tests.

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tempfile::TempDir;

use super::cache::untouched_command;
use super::log::Log;
use super::{Client, Connection, WARDIAN, Watched, repository};

/// How long a start may take: a machine without the engine fetches and compiles it first.
pub(super) const START: Duration = Duration::from_secs(600);

/// How long a stop may take; longer than the server itself waits for calls in progress.
const STOP: Duration = Duration::from_secs(60);

/// A server that was started for tests.
#[derive(Debug)]
pub(crate) struct TestServer {
    /// Where it listens.
    pub(crate) address: String,
    process: Watched,
    child: Mutex<Option<Child>>,
    lines: Mutex<Receiver<String>>,
    log: Log,
    data_dir: PathBuf,
    _folder: TempDir,
}

impl TestServer {
    /// The server of all tests that need nothing of their own; it serves the skills of
    /// `tests/it/skills`, and ends with the process.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<TestServer> = OnceLock::new();
        extern "C" fn stop() {
            let ended = SHARED.get().map_or(Ok(()), TestServer::stop);
            if let Err(trouble) = ended {
                eprintln!("the shared server did not end well: {trouble}");
                // SAFETY: `_exit` only ends the process, which is ending anyway.
                #[expect(unsafe_code, reason = "an exit handler cannot fail in another way")]
                unsafe {
                    libc::_exit(101)
                }
            }
        }
        SHARED.get_or_init(|| {
            // SAFETY: the handler touches nothing that is gone at the end: statics are never
            // dropped.
            #[expect(unsafe_code, reason = "nothing else runs at the end of all tests")]
            let registered = unsafe { libc::atexit(stop) };
            assert_eq!(registered, 0);
            // A skill of that folder declares the secret.
            Self::start_in(
                &["--skills", repository("tests/it/skills").to_str().unwrap()],
                &[("WARDIAN_SECRET_ACME_KEY", "a value that no test reads")],
            )
        })
    }

    /// Starts a server with an empty data folder and waits until it is ready.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_in(arguments, &[])
    }

    /// Starts a server whose environment has some more variables.
    pub(crate) fn start_in(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().join("data");
        let program = program(&folder);
        Self::spawn(program, folder, data_dir, arguments, environment).ready()
    }

    /// Starts a server on a data folder that may have been used before.
    pub(crate) fn start_on(data_dir: &Path, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = program(&folder);
        Self::spawn(program, folder, data_dir.to_owned(), arguments, &[]).ready()
    }

    /// As [`start_on`](Self::start_on), with some more variables in its environment.
    pub(crate) fn start_on_in(
        data_dir: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = program(&folder);
        Self::spawn(program, folder, data_dir.to_owned(), arguments, environment).ready()
    }

    /// Starts a server on a data folder, in the cgroup of this folder.
    pub(crate) fn start_within(cgroup: &Path, data_dir: &Path, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let usual = program(&folder);
        let mut program = Command::new("sh");
        program
            .args(["-c", "echo 0 > \"$0/cgroup.procs\" && exec \"$@\""])
            .arg(cgroup)
            .arg(WARDIAN);
        for (name, value) in usual.get_envs() {
            match value {
                Some(value) => program.env(name, value),
                None => program.env_remove(name),
            };
        }
        Self::spawn(program, folder, data_dir.to_owned(), arguments, &[]).ready()
    }

    /// Starts a server and only waits until it listens.
    pub(crate) fn start_unready(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().join("data");
        let program = program(&folder);
        let mut server = Self::spawn(program, folder, data_dir, arguments, &[]);
        let line = server.log.wait_for(" listening on http");
        server.address = line.rsplit_once("://").unwrap().1.to_owned();
        server
    }

    fn spawn(
        mut program: Command,
        folder: TempDir,
        data_dir: PathBuf,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let has_address = arguments.contains(&"--listen");
        let mut child = program
            .arg("serve")
            .args(if has_address { &[][..] } else { &["--listen", "127.0.0.1:0"] })
            .arg("--data-dir")
            .arg(&data_dir)
            // The seed of the cache is kept. Its images of yesterday would be made anew in the background
            // of any test. Arguments overrule the variable.
            .env("WARDIAN_IMAGES_MAX_AGE", "0")
            // The default depends on the machine.
            .env("WARDIAN_LIMITS_MEMORY", "512 MiB")
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let process = Watched::of(child.id()).unwrap();
        let lines = Mutex::new(lines_of(child.stdout.take().unwrap()));
        let log = Log::of(child.stderr.take().unwrap());
        let child = Mutex::new(Some(child));
        Self { address: String::new(), process, child, lines, log, data_dir, _folder: folder }
    }

    fn ready(mut self) -> Self {
        let Ok(line) = self.next_line() else { panic!("no start: {}", self.log()) };
        let (scheme, address) =
            line.strip_prefix("listening on ").unwrap().split_once("://").unwrap();
        self.address = address.to_owned();
        if scheme == "http" {
            let answer = self.client().get("/readyz");
            assert_eq!((answer.status, &answer.json()["ready"]), (200, &true.into()));
        }
        self
    }

    /// The next line that the server prints on standard output.
    pub(crate) fn next_line(&self) -> Result<String, mpsc::RecvTimeoutError> {
        self.lines.lock().recv_timeout(START)
    }

    /// A client of this server.
    pub(crate) fn client(&self) -> Client {
        Client::new(format!("http://{}", self.address))
    }

    /// A connection on which any bytes can be sent.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(&self.address)
    }

    /// The server's own process.
    pub(crate) const fn process(&self) -> &Watched {
        &self.process
    }

    /// The processes in which guests run.
    pub(crate) fn workers(&self) -> Vec<Watched> {
        self.process.children()
    }

    /// The data folder of the server.
    pub(crate) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// All that the server has logged until now.
    pub(crate) fn log(&self) -> String {
        self.log.text()
    }

    /// Waits until the server has logged a line with this text, and returns it.
    pub(crate) fn wait_for_log(&self, text: &str) -> String {
        self.log.wait_for(text)
    }

    /// Reads nothing that the server logs behind a line with this text, until it is let go.
    pub(crate) fn hold_log_behind(&self, text: &str) {
        self.log.hold(Some(text.to_owned()));
    }

    /// Reads on what the server logs.
    pub(crate) fn let_log_go(&self) {
        self.log.hold(None);
    }

    /// Waits until the process ends by itself or by a signal.
    pub(crate) fn wait(&self) -> ExitStatus {
        let child = self.child.lock().take();
        assert!(self.process.ends_within(STOP), "it goes on: {}", self.log());
        child.unwrap().wait().unwrap()
    }

    /// Stops the server. The error describes a wrong end.
    fn stop(&self) -> Result<(), String> {
        let Some(mut child) = self.child.lock().take() else { return Ok(()) };
        // A server that logs and is not read cannot end.
        self.let_log_go();
        let workers = self.workers();
        self.process.terminate();
        let in_time = self.process.ends_within(STOP);
        if !in_time {
            self.process.kill();
        }
        let status = child.wait().map_err(|fault| fault.to_string())?;
        let left = workers.iter().filter(|worker| !worker.ends_within(STOP)).count();
        match (in_time, status.code(), left) {
            (true, Some(0), 0) => Ok(()),
            _ => Err(format!("{status}, {left} workers are left; its log:\n{}", self.log())),
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let ended = self.stop();
        if thread::panicking() {
            eprintln!("the log of the server:\n{}", self.log());
        } else if let Err(trouble) = ended {
            panic!("the server did not end well: {trouble}");
        }
    }
}

/// The program, untouched by the settings of whoever runs the tests.
pub(super) fn program(folder: &TempDir) -> Command {
    untouched_command(folder.path())
}

/// Hands on each line as it comes.
fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            // The receiver may be gone. The stream must be read to its end nevertheless.
            sender.send(line.unwrap()).ok();
        }
    });
    receiver
}
