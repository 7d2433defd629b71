//! Paths and names that a skill has no honest need for: credentials, start-up files, settings of agents.

/// Files in which people keep credentials: parts of paths, with `/` between folders.
const CREDENTIALS: [&str; 44] = [
    "/.ssh",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "/.aws/",
    ".aws/credentials",
    "/.gnupg",
    "/.netrc",
    "/.pypirc",
    "/.npmrc",
    "/.docker/config.json",
    "/.kube/config",
    "/.git-credentials",
    "/.gitcookies",
    "application_default_credentials",
    "/.config/gcloud",
    "/.config/gh/hosts",
    "/.azure/",
    "/.config/solana",
    "/.ethereum/",
    "/.bitcoin",
    "wallet.dat",
    "/.electrum",
    "/exodus/",
    "login data",
    "/cookies.sqlite",
    "logins.json",
    "key4.db",
    "/etc/shadow",
    "/.bash_history",
    "/.zsh_history",
    "/keychains",
    "login.keychain",
    "/.password-store",
    "/.claude/.credentials",
    "/.codex/auth.json",
    "/.config/op/",
    "/.vault-token",
    "/.terraform.d/credentials",
    "/google/chrome/user data",
    "/.mozilla/firefox",
    "/telegram desktop/tdata",
    "/.openclaw/",
    "/.config/moltbook",
];

/// True if a text is the path of a file of credentials, not a text that speaks of one.
pub(crate) fn is_credential_path(text: &str) -> bool {
    if text.len() > 512 || text.lines().nth(1).is_some() {
        return false;
    }
    let lower = text.to_lowercase().replace('\\', "/");
    let lower = if lower.starts_with('.') { format!("/{lower}") } else { lower };
    CREDENTIALS.iter().any(|part| lower.contains(part)) && !lower.ends_with(".pub")
}

/// Files that make something start later: parts of paths.
const STARTS: [&str; 25] = [
    "/.bashrc",
    "/.bash_profile",
    "/.zshrc",
    "/.zprofile",
    "/.zshenv",
    "/.profile",
    "/config.fish",
    "/etc/cron",
    "/var/spool/cron",
    "/launchagents",
    "/launchdaemons",
    "/etc/systemd",
    "/systemd/user",
    "/.config/autostart",
    "/etc/rc.local",
    "/.git/hooks",
    "/authorized_keys",
    "/etc/profile",
    "/start menu/programs/startup",
    "/etc/ld.so.preload",
    "sitecustomize.py",
    "usercustomize.py",
    "/etc/init.d",
    "/.ssh/config",
    "currentversion/run",
];

/// Settings, hooks and memory of agents: parts of paths.
const AGENTS: [&str; 19] = [
    "/.claude/settings",
    "/.claude/claude.md",
    "/.claude.json",
    "/.claude/hooks",
    "/.claude/skills",
    "/.claude/commands",
    "/.claude/agents",
    "claude_desktop_config.json",
    "/.cursor/",
    "/.cursorrules",
    "/.codex/config",
    "/.gemini/settings",
    "/.mcp.json",
    "/mcp.json",
    "/.vscode/settings.json",
    "/.config/opencode",
    "/.windsurf/",
    "/.openclaw/",
    "/soul.md",
];

fn names_one(text: &str, parts: &[&str]) -> bool {
    let lower = format!("/{}", text.to_lowercase().replace('\\', "/").replace("//", "/"));
    let is_named = |part: &&str| {
        lower.match_indices(*part).any(|(at, _)| {
            let after = lower.get(at.saturating_add(part.len())..).unwrap_or_default();
            // `.bashrc.md` is another file; `/etc/cron.d` is not.
            part.starts_with("/etc/")
                || !after.starts_with('.') && !after.starts_with(char::is_alphanumeric)
                || part.ends_with(['/', 's'])
        })
    };
    text.len() <= 512 && parts.iter().any(is_named)
}

/// True for the path of a file that makes something start later.
pub(crate) fn is_start_path(text: &str) -> bool {
    names_one(text, &STARTS)
}

/// True for the path of settings, hooks or memory of an agent.
pub(crate) fn is_agent_path(text: &str) -> bool {
    names_one(text, &AGENTS)
}

/// Folders from which agents take skills, commands and helpers: where people install them.
const AGENT_FOLDERS: [&str; 6] = [
    "/.claude/skills",
    "/.claude/commands",
    "/.claude/agents",
    "/.cursor/skills",
    "/.cursor/commands",
    "/.openclaw/skills",
];

/// True for the path of a folder into which skills and commands of an agent are installed.
pub(crate) fn is_agent_folder(text: &str) -> bool {
    names_one(text, &AGENT_FOLDERS)
}

/// True for a path that belongs to the system or is a whole home folder.
pub(crate) fn is_precious(path: &str) -> bool {
    let path = path.trim_matches(['"', '\'']);
    let path = path.trim_end_matches(['*', '/']);
    let is_root = matches!(
        path,
        "" | "~" | "$HOME" | "${HOME}" | "%USERPROFILE%" | "C:" | "c:" | "/home" | "/Users"
    );
    let folders = [
        "/etc", "/usr", "/bin", "/boot", "/lib", "/sbin", "/var", "/sys", "/root", "/opt",
        "/System", "/Library",
    ];
    is_root
        || folders.contains(&path)
        || path.starts_with("~/.") && !path.starts_with("~/.cache")
        || ["~/Documents", "~/Desktop", "~/Pictures"].contains(&path)
}

/// True for the name of a variable that holds a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let upper = name.to_uppercase();
    [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "API_KEY",
        "APIKEY",
        "PRIVATE_KEY",
        "CREDENTIAL",
        "ACCESS_KEY",
        "PASSWD",
    ]
    .iter()
    .any(|part| upper.contains(part))
}
