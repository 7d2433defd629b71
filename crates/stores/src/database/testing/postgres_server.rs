//! A server of PostgreSQL for tests, which ends with the process that has started it.

#![expect(clippy::unwrap_used, reason = "a test may panic; that is how it fails")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

/// A server of PostgreSQL.
#[derive(Debug)]
pub struct PostgresServer {
    port: u16,
    orders: Mutex<Orders>,
}

#[derive(Debug)]
struct Orders {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl PostgresServer {
    /// Starts a server in a folder, which is removed at its end. Says why if this machine can have none.
    ///
    /// # Errors
    ///
    /// There is no PostgreSQL here, and none can be fetched.
    ///
    /// # Panics
    ///
    /// The script that starts it does not work.
    pub fn start(folder: &Path) -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres");
        let mut child = Command::new("python3")
            .args([script.as_path(), folder])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|fault| format!("python3: {fault}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut orders = Orders { child, input, output };
        let port = orders.answer()?;
        Ok(Self { port: port.unwrap(), orders: Mutex::new(orders) })
    }

    /// A server that all tests of this process share, in databases of their own. Without one it says so, past
    /// what keeps the output of tests.
    ///
    /// # Panics
    ///
    /// As [`Self::start`].
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<PostgresServer>> = OnceLock::new();
        let start = || {
            let folder = format!("wardian-postgres-{}", std::process::id());
            Self::start(&Path::new("/tmp").join(folder)).map_err(|why| Self::note(&why)).ok()
        };
        SHARED.get_or_init(start).as_ref()
    }

    /// Says that something is not tested.
    ///
    /// # Panics
    ///
    /// Nobody can be told.
    pub fn note(why: &str) {
        let note = format!("\nNOT TESTED against PostgreSQL: {why}\n");
        std::io::stderr().write_all(note.as_bytes()).unwrap();
    }

    /// Gives an order, and waits until it is executed: `stop`, `kill`, `start`, `standby` or `primary`.
    ///
    /// # Panics
    ///
    /// It could not be executed.
    pub fn order(&self, order: &str) {
        let mut orders = self.orders.lock().unwrap();
        let input = orders.input.as_mut().unwrap();
        writeln!(input, "{order}").unwrap();
        input.flush().unwrap();
        orders.answer().unwrap();
    }

    /// Its port on loopback.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres:secret@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes an empty database. Returns a file with its URL.
    ///
    /// # Panics
    ///
    /// It cannot be made.
    pub async fn database(&self, folder: &Path, name: &str) -> PathBuf {
        self.execute("postgres", &format!("CREATE DATABASE {name}")).await;
        url_file(folder, name, &self.url(name))
    }

    /// Executes statements in a database.
    ///
    /// # Panics
    ///
    /// They fail.
    pub async fn execute(&self, database: &str, statements: &str) {
        let mut connection = self.connect(database).await;
        let statements = AssertSqlSafe(statements.to_owned());
        sqlx::raw_sql(statements).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// The number that a statement finds in a database.
    ///
    /// # Panics
    ///
    /// It fails.
    pub async fn number(&self, database: &str, statement: &str) -> i64 {
        let mut connection = self.connect(database).await;
        let found = sqlx::query_scalar(AssertSqlSafe(statement.to_owned()));
        let found = found.fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        found
    }

    async fn connect(&self, database: &str) -> PgConnection {
        let options: PgConnectOptions = self.url(database).parse().unwrap();
        options.connect().await.unwrap()
    }
}

/// Writes a file with a URL, as an operator does.
///
/// # Panics
///
/// It cannot be written.
fn url_file(folder: &Path, name: &str, url: &str) -> PathBuf {
    let path = folder.join(format!("{name}.url"));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&path).unwrap();
    writeln!(file, "{url}").unwrap();
    path
}

impl Orders {
    /// The port, or nothing. An error says why there is no server.
    fn answer(&mut self) -> Result<Option<u16>, String> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
            ("ready", port) => Ok(Some(port.parse().unwrap())),
            ("done", _) => Ok(None),
            ("unavailable", why) => Err(why.to_owned()),
            _ => Err("scripts/postgres has failed: see above".to_owned()),
        }
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().ok();
    }
}
