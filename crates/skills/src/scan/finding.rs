//! Findings of a scan, and the table of all rules.

use std::collections::HashSet;

use serde::Serialize;

use crate::scan::excerpt::{excerpt_of, printable_name};

/// How much a finding should worry the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanLevel {
    /// Says what the skill wants: honest skills have it too.
    Info,
    /// Uncommon in honest skills: read the place.
    Warning,
    /// Common in attacks and hardly found elsewhere.
    Danger,
}

impl ScanLevel {
    /// The word for the level.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Danger => "danger",
        }
    }
}

/// One thing that a scan found in one file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScanFinding {
    /// How much it should worry the reader.
    pub level: ScanLevel,
    /// Stable name of the rule, such as `secrets-sent`.
    pub code: &'static str,
    /// Path below the folder, without unprintable characters.
    pub file: String,
    /// Line, counted from 1; `None` if the finding is about the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// One sentence.
    pub message: &'static str,
    /// What was found, cut and escaped: it can be shown on a terminal.
    pub excerpt: String,
}

/// A rule: its stable name, its level, and the sentence that its findings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanRule {
    /// Stable name.
    pub code: &'static str,
    /// The level of its findings.
    pub level: ScanLevel,
    /// The sentence.
    pub message: &'static str,
}

macro_rules! rules {
    ($($name:ident $level:ident $code:literal $message:literal;)*) => {
        $(pub(crate) const $name: ScanRule =
            ScanRule { code: $code, level: ScanLevel::$level, message: $message };)*
        /// All rules of the scan.
        pub const SCAN_RULES: &[ScanRule] = &[$($name),*];
    };
}

rules! {
    NETWORK Info "network" "the code uses the network";
    URL Info "url" "the code names this address";
    PROCESS Info "process" "the code starts another program";
    SECRET_NAME Info "secret-variable" "the code reads a variable that is named like a secret";
    PICKLE Info "pickle" "the code loads pickled objects, which can execute code";
    WIDE_TOOLS Info "wide-tools" "the skill asks for tools without a limit";
    ARCHIVE Info "archive" "an archive, whose content was not looked at";
    NOT_SCANNED Warning "not-scanned" "the file, or its rest, was not looked at";
    VARIABLE_SENT Warning "secret-variable-sent" "a variable or setting that is named like a secret is sent in the body of a request";
    DYNAMIC_CODE Warning "dynamic-code" "the code executes text that it makes while it runs";
    SHELL_TEXT Warning "shell-text" "the code makes a command for a shell while it runs";
    MARSHAL Warning "bytecode" "the code loads compiled code or native code";
    CREDENTIAL_FILE Warning "credential-file" "this names a file in which people keep credentials";
    ENVIRONMENT Warning "environment-sweep" "the code goes through all environment variables";
    COLLECTOR Warning "collector-address" "this address belongs to a service that collects, tunnels or shares text anonymously";
    ADDRESS Warning "numeric-address" "this address is a number instead of a name";
    KNOWN_INSTALLER Warning "installer" "this executes the installer of a well-known project from the network";
    DOWNLOAD_RUN Warning "download-and-run" "a file is downloaded and then executed";
    SHELL_PROFILE Warning "shell-profile" "this changes what a shell does when it starts";
    PACKAGE_HOOK Warning "package-hook" "this is executed when the package is installed";
    SKILL_INSTALL Warning "skill-install" "this puts a skill or a command into the folders of an agent, as people install one";
    AGENT_HOOK Warning "agent-hook" "the skill brings settings or hooks of an agent";
    NO_CONFIRMATION Warning "no-confirmation" "this switches off the questions or checks of an agent";
    TRACES Warning "hidden-traces" "this hides what was done";
    COMPILED Warning "compiled-code" "compiled Python, whose source cannot be read here";
    ENCODED_TEXT Warning "encoded-text" "a long encoded text, whose meaning a reader cannot see";
    ZERO_WIDTH Warning "invisible-characters" "invisible characters within the text";
    CONTROL Warning "control-characters" "control characters that can rewrite what a terminal shows";
    SYMLINK Warning "link" "a link: what it points to does not belong to the skill";
    QUOTED_OVERRIDE Warning "quoted-instructions" "a quotation or an example tells a model to break its rules";
    MODEL_COMMENT Warning "comment-for-models" "a comment that people do not see speaks to a model";
    ASKS_SECRETS Warning "asks-for-secrets" "the text tells a model to read or show credentials";
    DOWNLOAD_FIRST Warning "download-first" "the text tells the reader to download or paste a program first";
    DECODED_CODE Danger "decoded-code" "the code executes text that it decodes, so that a reader cannot see it";
    DOWNLOADED_CODE Danger "downloaded-code" "the code executes text that it gets from the network";
    HIDDEN_CALL Danger "hidden-call" "the name of a function that executes code is put together to hide it";
    SECRETS_SENT Danger "secrets-sent" "credentials or all environment variables are sent over the network";
    SECRETS_AND_NETWORK Danger "secrets-and-network" "the skill names files with credentials, and its code uses the network";
    REVERSE_SHELL Danger "reverse-shell" "this gives somebody on the network a shell";
    PIPE_TO_SHELL Danger "pipe-to-shell" "this executes a text from the network unseen";
    DECODED_SHELL Danger "decoded-command" "this executes a command that it decodes, so that a reader cannot see it";
    DESTRUCTIVE Danger "destructive" "this deletes or overwrites what belongs to the system or the user";
    PERSISTENCE Danger "persistence" "this makes something start by itself later";
    AGENT_SETTINGS Danger "agent-settings" "this changes the settings, hooks or memory of an agent";
    HOST_ACCESS Warning "host-access" "this gives a container the rights of the machine";
    SURVEILLANCE Warning "surveillance" "this watches what the user types, copies or sees";
    MINER Danger "miner" "this uses the machine to make money for somebody";
    QUARANTINE Warning "quarantine" "this switches off the protection of the system";
    PROGRAM Danger "native-program" "a native program or library";
    TAGS Danger "tag-characters" "text in invisible tag characters, which only a model reads";
    HIDDEN_DATA Danger "hidden-data" "data that is hidden in invisible characters";
    BIDI Danger "reordered-text" "characters that show text in another order than it has";
    OVERRIDE Danger "overrides-rules" "the text tells a model to ignore its rules or its instructions";
    HIDE_FROM_USER Danger "hides-from-user" "the text tells a model to hide something from the user";
    HIDDEN_ORDER Danger "hidden-instructions" "instructions in a place that people do not see";
    EXFILTRATE Danger "exfiltration" "the text tells a model to send secrets or the conversation elsewhere";
    DATA_IMAGE Danger "data-in-image" "an image address with room for data: loading it sends the data";
    LOCKED_ARCHIVE Danger "locked-archive" "the text tells the reader to open an archive with a password, which hides it from scanners";
    DECODE_AND_FOLLOW Danger "encoded-instructions" "the text tells a model to decode a text and to follow it";
}

/// Code and the page of a skill, where what was not looked at can be anything.
pub(crate) const CODE_NOT_SCANNED: ScanRule = ScanRule { level: ScanLevel::Danger, ..NOT_SCANNED };

/// Most findings of one rule in one file; more say nothing new.
const MAX_OF_A_RULE: usize = 8;

/// Collects the findings of one file.
#[derive(Debug)]
pub(crate) struct Notes {
    file: String,
    seen: HashSet<(&'static str, usize)>,
    pub(crate) found: Vec<ScanFinding>,
    pub(crate) has_more: bool,
}

impl Notes {
    pub(crate) fn of(file: &str) -> Self {
        let file = printable_name(file);
        Self { file, seen: HashSet::new(), found: Vec::new(), has_more: false }
    }

    /// True for a document that people read before they install a skill, such as `README.md`.
    pub(crate) fn is_for_people(&self) -> bool {
        let name = self.file.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let Some((stem, "md" | "markdown" | "txt" | "rst")) = name.rsplit_once('.') else {
            return name == "readme";
        };
        // `README.de.md`, `readme_zh.md`
        stem.starts_with("readme")
            || matches!(stem, "install" | "installation" | "contributing" | "changelog")
    }

    /// Notes a finding at a line, or about the whole file if `line` is 0. One place is told once.
    pub(crate) fn note(&mut self, rule: ScanRule, line: usize, about: &str) {
        let ScanRule { code, level, message } = rule;
        if !self.seen.insert((code, line)) {
            return;
        }
        if self.found.iter().filter(|one| one.code == code).count() >= MAX_OF_A_RULE {
            self.has_more = true;
            return;
        }
        let (file, excerpt) = (self.file.clone(), excerpt_of(about));
        let line = (line > 0).then_some(line);
        self.found.push(ScanFinding { level, code, file, line, message, excerpt });
    }

    /// Notes something once for the file, whatever the line.
    pub(crate) fn note_once(&mut self, rule: ScanRule, line: usize, about: &str) {
        let excerpt = excerpt_of(about);
        if !self.found.iter().any(|one| one.code == rule.code && one.excerpt == excerpt) {
            self.note(rule, line, about);
        }
    }

    /// Takes over what is uncommon of the notes about a part, whose first line is after `line`.
    pub(crate) fn adopt(&mut self, part: Self, line: usize) {
        for one in part.found.into_iter().filter(|one| one.level > ScanLevel::Info) {
            let line = one.line.map(|inner| inner.saturating_add(line));
            self.found.push(ScanFinding { file: self.file.clone(), line, ..one });
        }
    }

    pub(crate) fn has(&self, rule: ScanRule) -> bool {
        self.found.iter().any(|one| one.code == rule.code)
    }
}
