//! The options of `wardian conformance`: those of the suite.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ConformanceArgs {
    /// Server to test, such as `http://127.0.0.1:8080/rpc` [default: a temporary one]. The key comes
    /// from `--key-file` or the environment variable `WARDIAN_API_KEY`.
    #[arg(long = "server", alias = "url", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// File with the API key for the server.
    #[arg(long, value_name = "FILE", requires = "url")]
    key_file: Option<PathBuf>,
    /// File with an API key of another tenant, for the cases about two tenants.
    #[arg(long, value_name = "FILE", requires = "url")]
    other_key_file: Option<PathBuf>,
    /// Run the cases up to this level.
    #[arg(long, value_name = "LEVEL", default_value = "should")]
    #[arg(value_parser = ["must", "should", "extensions"])]
    level: String,
    /// Run only cases whose ids contain this text; can be given several times.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Timeout for each request.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Write a Markdown report.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write an XML report for continuous integration.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a JSON report.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print the cases as Markdown without running them.
    #[arg(long)]
    list: bool,
    /// Copy the skills that the cases need to a server's skill folder.
    #[arg(long, value_name = "FOLDER", conflicts_with = "list")]
    install: Option<PathBuf>,
}

impl ConformanceArgs {
    /// True if the suite is to call a server that nobody has named.
    pub(crate) const fn wants_own_server(&self) -> bool {
        self.url.is_none() && !self.list && self.install.is_none()
    }

    /// Returns the command line of the suite, without its server.
    pub(crate) fn suite_arguments(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--level".into(), (&self.level).into()];
        words.extend(["--timeout".into(), self.timeout.to_string().into()]);
        for text in &self.filter {
            words.push(format!("--filter={text}").into());
        }
        let files = [
            ("--key-file", &self.key_file),
            ("--other-key-file", &self.other_key_file),
            ("--report", &self.report),
            ("--junit", &self.junit),
            ("--json", &self.json),
            ("--install", &self.install),
        ];
        for (option, file) in files {
            if let Some(file) = file {
                let mut word = OsString::from(format!("{option}="));
                word.push(file);
                words.push(word);
            }
        }
        if self.list {
            words.push("--list".into());
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: ConformanceArgs,
    }

    fn parse(words: &[&str]) -> ConformanceArgs {
        Line::try_parse_from(std::iter::once(&"conformance").chain(words)).unwrap().args
    }

    #[test]
    fn the_suite_gets_the_options_of_the_command() {
        let usual = ["--level", "should", "--timeout", "60"];
        assert_eq!(parse(&[]).suite_arguments(), usual);
        let words = ["--level", "must", "--timeout", "5", "--filter=--x", "--junit=a b.xml"];
        assert_eq!(parse(&words).suite_arguments(), words);
        let keys = ["--server=http://x", "--key-file=a", "--other-key-file=b"];
        let passed = parse(&keys).suite_arguments();
        assert_eq!(passed[4..], ["--key-file=a", "--other-key-file=b"]);
        assert_eq!(parse(&["--list"]).suite_arguments().last().unwrap(), "--list");
    }

    #[test]
    fn a_server_is_started_only_for_cases_without_one() {
        for (words, is_wanted) in [
            (&[][..], true),
            (&["--level=must", "--junit=report.xml"], true),
            (&["--server=http://127.0.0.1:8080"], false),
            (&["--url=http://127.0.0.1:8080"], false),
            (&["--list"], false),
            (&["--install=skills"], false),
        ] {
            assert_eq!(parse(words).wants_own_server(), is_wanted, "{words:?}");
        }
    }
}
