//! Splits lines of a shell into commands and words, and tells what kind of program a command is.

const INTERPRETERS: [&str; 16] = [
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "php",
    "osascript",
    "iex",
    "powershell",
    "pwsh",
];

const FETCHERS: [&str; 11] = [
    "curl",
    "wget",
    "fetch",
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
    "aria2c",
    "nslookup",
    "dig",
    "http",
];

/// Programs that find an interpreter for a script.
const LAUNCHERS: [&str; 12] = [
    "uv",
    "uvx",
    "pipx",
    "poetry",
    "pipenv",
    "hatch",
    "bun",
    "deno",
    "npx",
    "tsx",
    "streamlit",
    "pytest",
];

/// Endings of scripts that launchers execute.
const SCRIPTS: [&str; 9] = [".py", ".pyw", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl"];

/// Programs that execute, install or open each file that they are given.
const EXECUTORS: [&str; 20] = [
    "chmod",
    "source",
    ".",
    "open",
    "start",
    "xdg-open",
    "java",
    "dpkg",
    "rpm",
    "apt",
    "msiexec",
    "installer",
    "pip",
    "pip3",
    "npm",
    "wine",
    "rundll32",
    "regsvr32",
    "cscript",
    "wscript",
];

/// Most characters of a line that are split.
pub(crate) const MAX_LINE: usize = 20_000;

/// A command of a line: its words, and whether the one before is piped into it.
#[derive(Debug, Default)]
pub(crate) struct ShellStep {
    pub(crate) words: Vec<String>,
    pub(crate) is_piped: bool,
}

impl ShellStep {
    /// The program: the first word that is no assignment and no `sudo`.
    pub(crate) fn program(&self) -> &str {
        let is_before = |word: &&String| {
            matches!(
                word.as_str(),
                "sudo"
                    | "env"
                    | "exec"
                    | "nohup"
                    | "command"
                    | "time"
                    | "then"
                    | "do"
                    | "else"
                    | "-E"
                    | "&"
                    | "$"
                    | ">"
                    | "!"
            ) || (word.contains('=') && !word.starts_with('-') && !word.contains('/'))
        };
        let word = self.words.iter().find(|word| !is_before(word)).map_or("", String::as_str);
        let word = word.trim_end_matches(['"', '\'', ')', ',']);
        word.rsplit('/').next().unwrap_or(word)
    }

    /// Words that name files which the command executes: the program itself, and what an interpreter or a
    /// launcher is given. Other files are only its input.
    pub(crate) fn executed(&self) -> Vec<&str> {
        let words = || self.words.iter().map(String::as_str);
        let program = self.program();
        if EXECUTORS.iter().any(|name| program.eq_ignore_ascii_case(name)) {
            return words().collect();
        }
        let mut found = vec![program];
        if LAUNCHERS.contains(&program) {
            let is_script = |word: &&str| SCRIPTS.iter().any(|ending| word.ends_with(ending));
            found.extend(words().find(is_script));
        }
        for (at, word) in words().enumerate() {
            if !is_interpreter(word.rsplit('/').next().unwrap_or(word)) {
                continue;
            }
            // An option may have a value, so what stands before the script counts as well.
            for next in words().skip(at.saturating_add(1)).filter(|next| !next.starts_with('-')) {
                found.push(next);
                if next.contains(['.', '/']) {
                    break;
                }
            }
        }
        found
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|one| one == word)
    }

    pub(crate) fn is_fetch(&self) -> bool {
        FETCHERS.iter().any(|name| self.program().eq_ignore_ascii_case(name))
            && self
                .words
                .iter()
                .any(|word| word.contains("://") || word.contains('.') || word.contains('$'))
    }

    pub(crate) fn is_interpreter(&self) -> bool {
        is_interpreter(self.program())
    }

    pub(crate) fn is_decoder(&self) -> bool {
        let flag = |one: &str| {
            matches!(one, "-d" | "-D" | "--decode" | "-di" | "-a" | "-r" | "-p" | "-rp")
        };
        match self.program() {
            "base64" | "base32" | "xxd" | "uudecode" => self.words.iter().any(|word| flag(word)),
            "openssl" => self.has("-d"),
            "rev" | "gunzip" | "zcat" => true,
            "tr" => {
                self.words.iter().any(|word| word.contains("A-Za-z") || word.contains("N-ZA-M"))
            }
            _ => false,
        }
    }
}

fn is_interpreter(program: &str) -> bool {
    let base = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    INTERPRETERS.iter().any(|name| program.eq_ignore_ascii_case(name) || base == *name)
}

/// Splits a line at pipes and separators, outside of quotes. Quotes that never close are no quotes.
pub(crate) fn steps_of(line: &str) -> Vec<ShellStep> {
    let line = line.replace("${IFS}", " ").replace("$IFS", " ");
    let line = line.as_str();
    split(line, true).unwrap_or_else(|| split(line, false).unwrap_or_default())
}

fn split(line: &str, has_quotes: bool) -> Option<Vec<ShellStep>> {
    let (mut steps, mut step, mut word) = (Vec::new(), ShellStep::default(), String::new());
    let mut quote = None;
    let mut letters = line.chars().take(MAX_LINE).peekable();
    while let Some(letter) = letters.next() {
        let is_quote = has_quotes && matches!(letter, '"' | '\'');
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            (_, None) if is_quote => quote = Some(letter),
            (_, Some(_)) => word.push(letter),
            ('|' | ';' | '&' | '`' | '(' | ')', None) => {
                if !word.is_empty() {
                    step.words.push(std::mem::take(&mut word));
                }
                let is_double = letters.next_if_eq(&letter).is_some();
                let is_redirection =
                    letter == '&' && step.words.last().is_some_and(|last| last.ends_with('>'));
                if is_redirection {
                    continue;
                }
                let is_piped = letter == '|' && !is_double;
                if is_piped {
                    letters.next_if_eq(&'&');
                }
                steps.push(std::mem::replace(&mut step, ShellStep { words: Vec::new(), is_piped }));
            }
            (_, None) if letter.is_whitespace() => {
                if !word.is_empty() {
                    step.words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(letter),
        }
    }
    if !word.is_empty() {
        step.words.push(word);
    }
    steps.push(step);
    quote.is_none().then_some(steps)
}
