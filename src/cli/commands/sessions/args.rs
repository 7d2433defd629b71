//! The options of `wardian sessions`, and those that name the server of a session.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::commands::blobs::{Remote, remote_at};
use crate::cli::examples;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use wardian_config::Config;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions.
    #[command(after_help = examples::LIST_SESSIONS)]
    List {
        /// Maximum number of sessions to list.
        #[arg(long, value_name = "COUNT", default_value_t = 20)]
        limit: usize,
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Show a session with its last cells and its checkpoints.
    #[command(after_help = examples::SHOW_SESSION)]
    Show {
        /// Id of the session.
        id: String,
        /// Print the session and its last cells as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Create sessions that begin with the state of another one, and print their ids.
    #[command(after_help = examples::FORK_SESSION)]
    Fork {
        /// Id of the session.
        id: String,
        /// The id or name of the checkpoint to begin with [default: the current one].
        #[arg(long, value_name = "CHECKPOINT")]
        checkpoint: Option<String>,
        /// Number of new sessions, up to 16.
        #[arg(long, value_name = "COUNT", default_value_t = 1)]
        #[arg(value_parser = clap::value_parser!(u64).range(1..=16))]
        count: u64,
        /// Print the sessions as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Set a session back to an earlier checkpoint.
    #[command(after_help = examples::RESTORE_SESSION)]
    Restore {
        /// Id of the session.
        id: String,
        /// The id or name of the checkpoint.
        checkpoint: String,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Close sessions, and delete their states.
    #[command(after_help = examples::CLOSE_SESSION)]
    Close {
        /// Ids of the sessions.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        at: SessionServer,
    },
    /// Write the cells of a session, with their outputs, as a Jupyter notebook.
    #[command(after_help = examples::NOTEBOOK)]
    Notebook {
        /// Id of the session.
        id: String,
        /// File to write [default: standard output].
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        at: SessionServer,
    },
}

impl SessionsCommand {
    /// The server that the command names.
    pub(super) const fn at(&self) -> &SessionServer {
        match self {
            Self::List { at, .. }
            | Self::Show { at, .. }
            | Self::Fork { at, .. }
            | Self::Restore { at, .. }
            | Self::Close { at, .. }
            | Self::Notebook { at, .. } => at,
        }
    }
}

/// The running server that has the sessions.
#[derive(Debug, Args)]
pub(crate) struct SessionServer {
    /// The running server [default: the one on this machine, at the address of the setting
    /// `listen`]. The key comes from `--key-file` or the environment variable `WARDIAN_API_KEY`.
    #[arg(long, alias = "url", value_name = "URL")]
    server: Option<String>,
    /// File with the API key for the server.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl SessionServer {
    /// The server, called with the key that the options or the environment name.
    pub(crate) fn remote(&self, config: &Config, api_key: Option<&str>) -> Result<Remote, Failed> {
        let url = match &self.server {
            Some(url) => url.clone(),
            None if config.http.tls.is_some() => {
                return Err(Failed::usage(
                    "the server of these settings has TLS, so its name must be known: give its \
                     address with `--server`",
                ));
            }
            None => format!("http://{}", reachable(config.http.listen)),
        };
        remote_at(&url, self.key_file.as_deref(), api_key)
    }

    /// Says how to start or name a server, if none was named and the usual one is not reached.
    pub(crate) fn with_hint(&self, failed: Failed) -> Failed {
        let is_unreached = failed.exit == Exit::OurFault
            && self.server.is_none()
            && failed.to_string().starts_with("could not call ");
        if !is_unreached {
            return failed;
        }
        Failed::because(format!(
            "{failed}; `wardian serve` starts a server, and `--server` names another one"
        ))
    }
}

/// The address at which a server that listens on `address` is reached from this machine.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_all_addresses_is_reached_on_this_machine() {
        for (listen, reached) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("0.0.0.0:9000", "127.0.0.1:9000"),
            ("[::]:9000", "[::1]:9000"),
            ("10.0.0.7:80", "10.0.0.7:80"),
        ] {
            assert_eq!(reachable(listen.parse().unwrap()).to_string(), reached, "{listen}");
        }
    }

    #[test]
    fn only_the_usual_server_is_hinted_at() {
        let at = |server: Option<&str>| SessionServer {
            server: server.map(str::to_owned),
            key_file: None,
        };
        let unreached = || Failed::because("could not call http://127.0.0.1:8080: refused");
        assert!(at(None).with_hint(unreached()).to_string().contains("`wardian serve`"));
        assert_eq!(at(Some("http://x")).with_hint(unreached()), unreached());
        let refused = || Failed::usage("the session does not exist");
        assert_eq!(at(None).with_hint(refused()), refused());
    }
}
