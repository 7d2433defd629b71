//! `wardian fleet`: the servers that share a database, and what waits for one of them.

pub(crate) mod args;

use serde::Serialize;

use crate::assembly;
use crate::cli::commands::fleet::args::FleetCommand;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::block_on;
use crate::cli::terminal::output::{print_json, print_line, print_table};
use wardian_config::Config;
use wardian_stores::records::{FleetServer, TenantQueue};

/// Most servers, and most tenants, that are shown.
const MOST: u64 = 10_000;

/// The fleet as it is shown.
#[derive(Serialize)]
struct FleetStatus {
    servers: Vec<FleetServer>,
    queues: Vec<TenantQueue>,
}

/// Executes a command on the fleet of the configuration.
pub(crate) fn fleet(config: &Config, command: &FleetCommand) -> Result<Exit, Failed> {
    if config.database.url_file.is_none() {
        return Err(Failed::usage(
            "the configuration names no database that servers share: set `database.url_file`",
        ));
    }
    let FleetCommand::Status { json } = command;
    block_on(async {
        let table = assembly::open_records(config).await?;
        let found = async {
            let servers = table.fleet_servers(MOST).await?;
            Ok::<_, Failed>(FleetStatus { servers, queues: table.fleet_queues(MOST).await? })
        };
        let found = found.await;
        table.close().await;
        let status = found?;
        if *json {
            print_json(&status);
        } else {
            print_status(&status);
        }
        Ok(Exit::Done)
    })
}

fn print_status(status: &FleetStatus) {
    let FleetStatus { servers, queues } = status;
    if servers.is_empty() {
        return print_line("no server has been on this database yet");
    }
    let columns = ["server", "host", "version", "lease", "claimed", "begun", "settings"];
    let usual = usual_settings(servers);
    print_table(&columns, servers.iter().map(|server| row(server, usual)).collect());
    if queues.is_empty() {
        return print_line("\nnothing waits, and nothing is executed in the background");
    }
    print_line("");
    let columns = ["tenant", "waiting", "claimed", "begun", "oldest"];
    let queue = |queue: &TenantQueue| {
        let oldest = if queue.oldest_ms == 0 { "-".to_owned() } else { seconds(queue.oldest_ms) };
        let counts = [queue.waiting, queue.claimed, queue.begun].map(|count| count.to_string());
        [vec![queue.tenant.clone()], counts.to_vec(), vec![oldest]].concat()
    };
    print_table(&columns, queues.iter().map(queue).collect());
}

fn row(server: &FleetServer, usual: Option<&str>) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let lease = match server.lease_ms {
        0 => "ended".to_owned(),
        left => seconds(left),
    };
    let settings = match &server.settings {
        None => "-",
        Some(settings) if Some(settings.as_str()) == usual => "equal",
        Some(_) => "DIFFERENT",
    };
    vec![
        server.server.clone(),
        text(&server.host),
        text(&server.version),
        lease,
        server.claimed.to_string(),
        server.begun.to_string(),
        settings.to_owned(),
    ]
}

/// The settings that most servers have whose leases go on.
fn usual_settings(servers: &[FleetServer]) -> Option<&str> {
    let of_living = || {
        let living = servers.iter().filter(|server| server.lease_ms > 0);
        living.filter_map(|server| server.settings.as_deref())
    };
    of_living().max_by_key(|settings| of_living().filter(|other| other == settings).count())
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(settings: Option<&str>, lease_ms: u64) -> FleetServer {
        FleetServer {
            server: "srv_1".to_owned(),
            host: None,
            version: None,
            settings: settings.map(str::to_owned),
            epoch: 1,
            lease_ms,
            claimed: 0,
            begun: 0,
        }
    }

    #[test]
    fn settings_that_few_servers_have_are_different() {
        let servers = [("a", 0), ("a", 0), ("a", 9), ("b", 9), ("b", 1_250)]
            .map(|(text, lease)| server(Some(text), lease));
        let usual = usual_settings(&servers);
        assert_eq!(usual, Some("b"), "those that are gone do not count");
        let [gone, .., last] = &servers;
        assert_eq!(row(gone, usual)[3..], ["ended", "0", "0", "DIFFERENT"]);
        assert_eq!(row(last, usual)[3..], ["1.2 s", "0", "0", "equal"]);
        assert_eq!(row(&server(None, 1), usual)[6], "-");
        assert_eq!(usual_settings(&[]), None);
    }
}
