//! The title of a run: the label that its caller gave it, or a line of its program.

use crate::run::result::output::head;
use wardian_formats::protocol::params_error::ParamsError;

/// Longest line of a program that becomes a title, in bytes.
const MAX_LINE: usize = 120;

/// A title that a caller gave a run: text on one line, as long as
/// the tables of parameters allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunLabel(String);

impl RunLabel {
    /// Checks a label. Its length was checked with the other parameters.
    ///
    /// # Errors
    ///
    /// It has characters that do not print, or nothing else than blanks.
    pub(crate) fn parse(text: String) -> Result<Self, ParamsError> {
        if text.chars().any(is_unseen) {
            let expected = "text on one line without control characters";
            return Err(ParamsError::wrong("label", expected, "text with some"));
        }
        if text.trim().is_empty() {
            return Err(ParamsError::wrong("label", "text (omit it for none)", "blank text"));
        }
        Ok(Self(text))
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// True for control characters, and for those that change the direction of text behind them.
fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The line of a program that says most about it: the first that is neither blank nor an import nor
/// the head of `main`. Without one it is the first line that is not blank.
pub(crate) fn title_of(source: &str) -> Option<String> {
    let bare = |line: &'_ str| -> Option<String> {
        let line = line
            .trim()
            .trim_start_matches(['#', '"', '\'', ' '])
            .trim_end_matches(['"', '\'', ' ']);
        let shown: String =
            head(line, MAX_LINE).chars().filter(|letter| !is_unseen(*letter)).collect();
        (!shown.is_empty()).then_some(shown)
    };
    // A program of a megabyte of blank lines is not searched to its end.
    let lines = || head(source, 16 << 10).lines().filter(|line| !line.trim().is_empty());
    let tells = |line: &&str| {
        let line = line.trim();
        !["import ", "from ", "def main(", "#!", "# -*-"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    lines().filter(tells).find_map(bare).or_else(|| lines().find_map(bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_telling_line_is_the_title() {
        for (source, title) in [
            ("", None),
            ("\n \n", None),
            ("6 * 7", Some("6 * 7")),
            ("import os\n\nprint(os.sep)\n", Some("print(os.sep)")),
            ("#!/usr/bin/python\n# Sums of a day\nimport os\n", Some("Sums of a day")),
            ("\"\"\"\nThe doc\n\"\"\"\nx = 1", Some("The doc")),
            ("import pandas as pd\ndef main(args):\n    return 1\n", Some("return 1")),
            ("import os", Some("import os")),
            ("x = 'a\u{202e}b'\r\n", Some("x = 'ab")),
        ] {
            assert_eq!(title_of(source).as_deref(), title, "{source:?}");
        }
        let long = title_of(&"ä".repeat(500)).unwrap();
        assert!(long.len() <= MAX_LINE && long.chars().all(|letter| letter == 'ä'));
    }

    #[test]
    fn a_label_is_one_line_of_visible_text() {
        for good in ["a", "Sales of März – 3 %", "<b>"] {
            assert_eq!(RunLabel::parse(good.to_owned()).unwrap().as_str(), good);
        }
        for bad in ["", " ", "a\nb", "a\u{0}", "a\u{202e}b"] {
            let refused = RunLabel::parse(bad.to_owned()).unwrap_err().to_string();
            assert!(refused.contains("`label`"), "{refused}");
        }
    }
}
