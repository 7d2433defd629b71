//! The server that has the sessions of a command.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::cli::commands::blobs::{Remote, remote_at};
use crate::cli::commands::sessions::args::SessionServer;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use wardian_config::Config;

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
