//! A server that a command starts for itself: this program with its default settings.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::task::spawn_blocking;

use crate::cli::failed::Failed;
use wardian_config::Config;
use wardian_vocabulary::subprocess::hide_own_variables;

/// A server in a separate process. Dropping it stops the server.
pub(crate) struct OwnServer {
    process: Child,
    url: String,
}

impl OwnServer {
    /// Starts a server on a free port, with these skills and an empty data folder below `folder`. Only
    /// the cache is that of the user, because the engine is in it. It does not get the variables
    /// `hidden` of the environment.
    pub(crate) async fn start(
        config: &Config,
        folder: &Path,
        skills: &Path,
        hidden: &[&str],
    ) -> Result<Self, Failed> {
        let failed = |fault| Failed::at("start a server", &fault);
        let settings = folder.join("config.toml");
        fs::write(&settings, "").map_err(failed)?;
        let mut command = Command::new("/proc/self/exe");
        hide_own_variables(&mut command);
        for name in hidden {
            command.env_remove(name);
        }
        command.args(["serve", "--listen", "127.0.0.1:0", "--log-level", "error"]);
        command.arg("--config").arg(settings).arg("--skills").arg(skills);
        command.arg("--data-dir").arg(folder.join("data"));
        command.arg("--cache-dir").arg(&config.cache_dir);
        let process =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let mut server = Self { process, url: String::new() };
        let Some(stdout) = server.process.stdout.take() else { return Err(no_start()) };
        let said = spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line).map(|_| line)
        });
        let line = said.await.map_err(|fault| Failed::at("wait for a server", &fault))?;
        let line = line.map_err(failed)?;
        let url = line.trim_end().strip_prefix("listening on ").ok_or_else(no_start)?;
        url.clone_into(&mut server.url);
        Ok(server)
    }

    /// Its address, such as `http://127.0.0.1:8080`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

fn no_start() -> Failed {
    Failed::because("the server did not start: see the messages above")
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let process = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        // A process that has ended already needs no signal.
        process.and_then(|process| kill_process(process, Signal::TERM).ok());
        self.process.wait().ok();
    }
}
