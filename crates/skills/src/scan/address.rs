//! Addresses in texts: what hosts a skill names, and which of them are telling.

use std::net::Ipv4Addr;

use crate::scan::finding::{ADDRESS, COLLECTOR, Notes, URL};

/// Services that take or give text without a name: for pastes, tunnels, requests and messages of bots.
const COLLECTORS: [&str; 52] = [
    "webhook.site",
    "requestbin.com",
    "requestbin.net",
    "pipedream.net",
    "ngrok.io",
    "ngrok-free.app",
    "ngrok.app",
    "trycloudflare.com",
    "loca.lt",
    "serveo.net",
    "oast.fun",
    "oast.pro",
    "oast.live",
    "oast.me",
    "oast.site",
    "oastify.com",
    "interact.sh",
    "burpcollaborator.net",
    "dnslog.cn",
    "pastebin.com",
    "hastebin.com",
    "rentry.co",
    "rentry.org",
    "glot.io",
    "paste.ee",
    "ghostbin.com",
    "termbin.com",
    "ix.io",
    "0x0.st",
    "transfer.sh",
    "file.io",
    "gofile.io",
    "beeceptor.com",
    "canarytokens.com",
    "ngrok-free.dev",
    "ngrok.dev",
    "lhr.life",
    "localhost.run",
    "pagekite.me",
    "serveousercontent.com",
    "devtunnels.ms",
    "bore.pub",
    "requestcatcher.com",
    "hookbin.com",
    "postb.in",
    "paste.rs",
    "dpaste.com",
    "catbox.moe",
    "temp.sh",
    "bashupload.com",
    "pinggy.link",
    "anonfiles.com",
];

/// Parts of addresses of bots.
const BOTS: [&str; 3] =
    ["api.telegram.org/bot", "discord.com/api/webhooks", "discordapp.com/api/webhooks"];

/// Hosts that name nothing: examples, and this machine.
const NOWHERE: [&str; 8] = [
    "localhost",
    "127.0.0.1",
    "0.0.0.0",
    "example.com",
    "example.org",
    "example.net",
    "www.w3.org",
    "schemas.",
];

/// Most addresses of one text, and their longest.
const MAX_ADDRESSES: usize = 2_000;
const MAX_ADDRESS: usize = 500;

/// The addresses in a text, each with the place where it starts.
pub(crate) fn addresses(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").take(MAX_ADDRESSES).filter_map(|(at, _)| {
        let before = text.get(..at)?;
        let scheme = before
            .char_indices()
            .rev()
            .take(6)
            .take_while(|(_, letter)| letter.is_ascii_alphabetic());
        let start = scheme.last().map(|(start, _)| start)?;
        let rest = text.get(start..)?;
        let is_end = |letter: char| {
            letter.is_whitespace() || matches!(letter, '"' | '\'' | '`' | '<' | '>' | '|' | '\\')
        };
        let end = rest
            .char_indices()
            .take(MAX_ADDRESS)
            .find(|(_, letter)| is_end(*letter))
            .map(|(end, _)| end);
        let whole = rest.char_indices().nth(MAX_ADDRESS).map_or(rest.len(), |(end, _)| end);
        rest.get(..end.unwrap_or(whole))
    })
}

/// The host of an address, in lower case, without a port.
pub(crate) fn host_of(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    let host = rest.split(['/', '?', '#', ')', ']', ',', ';']).next()?;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split(':').next()?.trim_end_matches('.').to_ascii_lowercase();
    let is_name = host.contains('.') || host == "localhost";
    let is_plain =
        host.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_'));
    (is_name && is_plain).then_some(host)
}

/// Notes the addresses in a text of a program.
pub(crate) fn look_at_addresses(text: &str, line: usize, notes: &mut Notes) {
    for address in addresses(text) {
        let Some(host) = host_of(address) else { continue };
        if NOWHERE.iter().any(|nowhere| host == *nowhere || host.starts_with(nowhere)) {
            continue;
        }
        if is_web(address) {
            notes.note_once(URL, line, &host);
        }
        telling(address, &host, line, notes);
    }
}

/// Notes only the telling addresses of a text for people.
pub(crate) fn look_at_telling_addresses(text: &str, line: usize, notes: &mut Notes) {
    for address in addresses(text) {
        if let Some(host) = host_of(address) {
            telling(address, &host, line, notes);
        }
    }
}

fn telling(address: &str, host: &str, line: usize, notes: &mut Notes) {
    if is_collector(address, host) {
        notes.note_once(COLLECTOR, line, address);
    }
    // The second of these gives a machine in a cloud its credentials.
    let is_telling = is_public_number(host) || host == "169.254.169.254";
    if is_telling && is_web(address) {
        notes.note_once(ADDRESS, line, address);
    }
}

fn is_web(address: &str) -> bool {
    ["http", "ws", "ftp"].iter().any(|scheme| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

pub(crate) fn is_collector(address: &str, host: &str) -> bool {
    let is_host =
        |one: &str| host == one || host.strip_suffix(one).is_some_and(|rest| rest.ends_with('.'));
    // A page of such a service about itself takes no data.
    let has_path = address
        .split_once("://")
        .is_some_and(|(_, rest)| rest.split_once('/').is_some_and(|(_, path)| !path.is_empty()));
    (COLLECTORS.iter().any(|one| is_host(one)) && (has_path || host.split('.').count() > 2))
        || BOTS.iter().any(|bot| address.contains(bot))
}

/// A number of the public Internet: not of this machine, of a local network, or of documentation.
pub(crate) fn is_public_number(host: &str) -> bool {
    host.parse::<Ipv4Addr>().is_ok_and(|number| {
        !number.is_private()
            && !number.is_loopback()
            && !number.is_unspecified()
            && !number.is_documentation()
            && !number.is_link_local()
            && !number.is_broadcast()
            && !matches!(number.octets(), [1, 1, 1, 1] | [8, 8, _, _])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_and_collectors_stand_out() {
        let mut notes = Notes::of("a.py");
        look_at_addresses(
            "see https://api.acme.dev/v1?x=1 and http://45.67.89.10/a",
            3,
            &mut notes,
        );
        look_at_addresses(
            "https://abc.ngrok.io/x http://localhost:80/ https://192.168.0.1/",
            4,
            &mut notes,
        );
        let found: Vec<_> =
            notes.found.iter().map(|one| (one.code, one.excerpt.as_str())).collect();
        assert!(found.contains(&("url", "api.acme.dev")), "{found:?}");
        assert!(found.contains(&("numeric-address", "http://45.67.89.10/a")), "{found:?}");
        assert!(found.contains(&("collector-address", "https://abc.ngrok.io/x")), "{found:?}");
        assert!(!found.iter().any(|(_, about)| about.contains("localhost")), "{found:?}");
        assert_eq!(
            host_of("https://user:pass@Host.Example:8443/x"),
            Some("host.example".to_owned())
        );
    }
}
