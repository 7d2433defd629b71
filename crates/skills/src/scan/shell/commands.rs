//! Single commands of a shell, by what they do to the machine.

use crate::scan::finding::{
    AGENT_SETTINGS, CREDENTIAL_FILE, DECODED_SHELL, DESTRUCTIVE, DOWNLOAD_RUN, HOST_ACCESS, MINER,
    NO_CONFIRMATION, Notes, PERSISTENCE, QUARANTINE, REVERSE_SHELL, SECRETS_SENT, SHELL_PROFILE,
    SKILL_INSTALL, TRACES,
};
use crate::scan::paths::{
    is_agent_folder, is_agent_path, is_credential_path, is_precious, is_start_path,
};
use crate::scan::shell::steps::ShellStep;

/// What is told by the line as a whole.
pub(crate) fn look_at_line(about: &str, line: usize, notes: &mut Notes) {
    let lower = about.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if has(&["/dev/tcp/", "/dev/udp/"]) && has(&[">&", "<&", "exec ", "bash -i", "0>&1"])
        || has(&["bash -i >&", "sh -i >&", "mkfifo /tmp"])
            && has(&["nc ", "/dev/tcp", "ncat", "telnet"])
    {
        notes.note(REVERSE_SHELL, line, about);
    }
    if has(&[
        "xattr -d com.apple.quarantine",
        "xattr -c ",
        "xattr -rd com.apple",
        "spctl --master-disable",
        "set-mppreference -disable",
        "setenforce 0",
        "add-mppreference -exclusionpath",
    ]) {
        notes.note(QUARANTINE, line, about);
    }
    if has(&[
        "dangerously-skip-permissions",
        "dangerously_skip_permissions",
        "--yolo",
        "bypasspermissions",
        "dangerously-bypass-approvals",
    ]) {
        notes.note_once(NO_CONFIRMATION, line, about);
    }
    if has(&[
        "history -c",
        "unset histfile",
        "histsize=0",
        "rm ~/.bash_history",
        "histfile=/dev/null",
    ]) {
        notes.note(TRACES, line, about);
    }
    if has(&["powershell -enc", "powershell -e ", "-encodedcommand", "powershell.exe -enc"])
        || (has(&["-windowstyle hidden", "-w hidden"]) && has(&["powershell"]))
    {
        notes.note(DECODED_SHELL, line, about);
    }
    if has(&[":(){ :|:& };:", ":(){:|:&};:"]) {
        notes.note(DESTRUCTIVE, line, about);
    }
    if has(&["find-generic-password", "dump-keychain", "find-internet-password"])
        && has(&["security "])
    {
        notes.note(CREDENTIAL_FILE, line, about);
    }
}

/// Programs of the system that attacks use to get and to keep programs.
pub(crate) fn look_at_tools(about: &str, line: usize, notes: &mut Notes) {
    let lower = about.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if has(&[
        "mshta http",
        "certutil -urlcache",
        "certutil.exe -urlcache",
        "/i:http",
        "bitsadmin /transfer",
    ]) {
        notes.note(DOWNLOAD_RUN, line, about);
    }
    if has(&["docker.sock:", "docker run", "podman run", "docker create"])
        && has(&["--privileged", "docker.sock:", "-v /:/", "--cap-add=sys_admin", "--pid=host"])
    {
        notes.note(HOST_ACCESS, line, about);
    }
    if has(&["stratum+tcp://", "stratum+ssl://", "xmrig "]) {
        notes.note(MINER, line, about);
    }
    if has(&["sc create ", "sc.exe create "]) && has(&["binpath="]) {
        notes.note(PERSISTENCE, line, about);
    }
    if has(&["curl"]) && has(&["@.env", "@~/.env", "@./.env"]) {
        notes.note(SECRETS_SENT, line, about);
    }
}

pub(crate) fn look_at_step(step: &ShellStep, about: &str, line: usize, notes: &mut Notes) {
    let program = step.program();
    let targets = || step.words.iter().skip(1).filter(|word| !word.starts_with('-'));
    let flags = |letter: char| {
        step.words.iter().any(|word| {
            word.strip_prefix('-')
                .is_some_and(|flags| flags.contains(letter) && !flags.starts_with('-'))
        })
    };
    match program {
        "rm" if (flags('r') || flags('R')) && targets().any(|target| is_precious(target)) => {
            notes.note(DESTRUCTIVE, line, about);
        }
        "mkfs" | "mkfs.ext4" if step.words.len() > 1 => notes.note(DESTRUCTIVE, line, about),
        "dd" if step.words.iter().any(|word| {
            word.starts_with("of=/dev/sd")
                || word.starts_with("of=/dev/nvme")
                || word.starts_with("of=/dev/disk")
        }) =>
        {
            notes.note(DESTRUCTIVE, line, about);
        }
        "crontab" if step.has("-") || step.is_piped => notes.note(PERSISTENCE, line, about),
        "launchctl" if step.has("load") || step.has("bootstrap") => {
            notes.note(PERSISTENCE, line, about);
        }
        "schtasks" if step.words.iter().any(|word| word.eq_ignore_ascii_case("/create")) => {
            notes.note(PERSISTENCE, line, about);
        }
        "nc" | "ncat" | "netcat"
            if step.words.iter().any(|word| matches!(word.as_str(), "-e" | "-c" | "-lvpe")) =>
        {
            notes.note(REVERSE_SHELL, line, about);
        }
        _ => {}
    }
    look_at_targets(step, about, line, notes);
    look_at_credentials(step, about, line, notes);
}

/// Files that a command writes.
fn look_at_targets(step: &ShellStep, about: &str, line: usize, notes: &mut Notes) {
    let mut is_target = false;
    for word in &step.words {
        let after = word.trim_start_matches(['1', '2']).strip_prefix('>');
        let target = after
            .map(|rest| rest.trim_start_matches('>'))
            .or_else(|| is_target.then_some(word.as_str()));
        is_target = after.is_some_and(|rest| rest.trim_start_matches('>').is_empty());
        if let Some(target) = target.filter(|target| !target.is_empty()) {
            written(target, about, line, notes);
        }
    }
    let copies = matches!(step.program(), "tee" | "cp" | "mv" | "ln" | "install");
    if let Some(target) = step.words.last().filter(|_| copies) {
        written(target, about, line, notes);
    }
}

/// Files of credentials that a command reads.
fn look_at_credentials(step: &ShellStep, about: &str, line: usize, notes: &mut Notes) {
    let reads = matches!(
        step.program(),
        "cat"
            | "cp"
            | "tar"
            | "zip"
            | "scp"
            | "base64"
            | "less"
            | "head"
            | "tail"
            | "grep"
            | "find"
            | "curl"
            | "wget"
            | "rsync"
            | "gpg"
    );
    let credential = step.words.iter().skip(1).find(|word| is_credential_path(word));
    if let Some(word) = credential.filter(|word| reads && !word.contains("known_hosts")) {
        // `-i key` is how a key is used.
        let is_use = step.words.windows(2).any(|two| matches!(two, [flag, next] if next == word && matches!(flag.as_str(), "-i" | "--key" | "-o")));
        if step.is_fetch() && !is_use {
            notes.note(SECRETS_SENT, line, about);
        } else if !is_use {
            notes.note(CREDENTIAL_FILE, line, about);
        }
    }
    let sends_all = about.contains("$(env)")
        || about.contains("$(printenv)")
        || about.contains("`env`")
        || about.contains("$(env |");
    if sends_all && about.contains("curl") {
        notes.note(SECRETS_SENT, line, about);
    }
}

fn written(target: &str, about: &str, line: usize, notes: &mut Notes) {
    let lower = target.to_ascii_lowercase();
    let profiles =
        [".bashrc", ".zshrc", ".profile", ".bash_profile", ".zprofile", "config.fish", ".zshenv"];
    if is_agent_folder(target) && notes.is_for_people() {
        notes.note(SKILL_INSTALL, line, about);
    } else if is_agent_path(target) {
        notes.note(AGENT_SETTINGS, line, about);
    } else if profiles.iter().any(|profile| lower.ends_with(profile)) {
        // A line for the search path is what installers add.
        let runs = ["curl ", "wget ", "base64", "nohup", "eval", "/tmp/", "python"]
            .iter()
            .any(|one| about.contains(one));
        notes.note(if runs { PERSISTENCE } else { SHELL_PROFILE }, line, about);
    } else if is_start_path(target) {
        notes.note(PERSISTENCE, line, about);
    }
}
