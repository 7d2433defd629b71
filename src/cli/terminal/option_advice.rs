//! Advice for options that other programs have and this one does not.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The port of a server that names none.
const PORT: u16 = 8080;

/// Adds what to write instead to an error about an unknown option of the command line `words`. The
/// option of the most similar name, which is shown otherwise, need not have to do with it.
pub(crate) fn with_advice(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let Some(advice) = advice(option, &words) else { return error };
    error.remove(ContextKind::SuggestedArg);
    // It shows the most similar option, too.
    error.remove(ContextKind::Usage);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    error
}

fn advice(option: &str, words: &[&str]) -> Option<String> {
    let name = option.split(['=', ' ']).next().unwrap_or_default();
    let value = value_of(name, words);
    let uses = |command: &str| words.contains(&command);
    match name {
        "--port" | "--host" | "--bind" | "--address" if uses("serve") => {
            Some(format!("the address and the port are one option: `--listen {}`", listen(value)))
        }
        "--server" | "--url" => {
            let command = ["run", "exec", "test"].into_iter().find(|command| uses(command))?;
            Some(format!(
                "`{command}` works on this machine, without a server: a running server is called \
                 with the clients for Python and TypeScript, or with `curl` at its `/rpc`"
            ))
        }
        "--timeout" if uses("run") || uses("exec") => {
            Some("the time is in milliseconds: `--timeout-ms 5000`".to_owned())
        }
        "--memory" if uses("run") || uses("exec") => {
            Some("the memory is in bytes: `--memory-bytes 268435456`".to_owned())
        }
        _ => None,
    }
}

/// The word after an option, or after its `=`.
fn value_of<'w>(name: &str, words: &[&'w str]) -> Option<&'w str> {
    let at = words.iter().position(|word| {
        word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })?;
    match words.get(at)?.split_once('=') {
        Some((_, value)) => Some(value),
        None => words.get(at.saturating_add(1)).copied(),
    }
}

/// The address that was probably meant.
fn listen(value: Option<&str>) -> SocketAddr {
    let value = value.unwrap_or_default();
    if let Ok(address) = value.parse() {
        return address;
    }
    let host = value.parse().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    SocketAddr::new(host, value.parse().unwrap_or(PORT))
}
