//! What a script says of itself: the first line of its docstring, of the description that it gives to
//! `argparse`, or of its first comment.

use crate::skill::text::is_invisible;

/// Longest help, in characters.
const MAX_HELP: usize = 160;

/// Bytes behind the call of `ArgumentParser` in which its description is looked for.
const MAX_CALL: usize = 2_000;

const QUOTES: [&str; 4] = ["\"\"\"", "'''", "\"", "'"];

/// The help of a script with this text.
pub(super) fn of(text: &str) -> Option<String> {
    let found = docstring(text).or_else(|| description(text)).or_else(|| comment(text));
    found.map(|line| shown(&line)).filter(|line| !line.is_empty())
}

/// The first line with a word of the text at the beginning of a module.
fn docstring(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(line) = rest.lines().next() {
        let trimmed = line.trim();
        if !trimmed.is_empty() && !trimmed.starts_with('#') {
            break;
        }
        rest = rest.get(line.len()..).unwrap_or_default().trim_start_matches(['\r', '\n']);
    }
    literal(rest.trim_start_matches(['r', 'R', 'u', 'U']))
}

/// The description in the first call of `ArgumentParser`.
fn description(text: &str) -> Option<String> {
    let (_, call) = text.split_once("ArgumentParser(")?;
    let call = call.get(..call.floor_char_boundary(MAX_CALL)).unwrap_or(call);
    let (_, value) = call.split_once("description=")?;
    literal(value.trim_start_matches(|c: char| c.is_whitespace() || c == '(' || c == 'f'))
}

/// The first line with a word of the text in quotes with which `rest` begins.
fn literal(rest: &str) -> Option<String> {
    let quote = QUOTES.into_iter().find(|quote| rest.starts_with(quote))?;
    let inner = rest.get(quote.len()..)?;
    let end = inner.find(quote).unwrap_or(inner.len());
    let inner = inner.get(..end)?.replace("\\n", "\n").replace("\\\n", "");
    inner.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// The first comment with words, which is neither for a shell nor an editor nor a list of packages.
fn comment(text: &str) -> Option<String> {
    let mut is_metadata = false;
    for line in text.lines().map(str::trim).take_while(|l| l.is_empty() || l.starts_with('#')) {
        let words = line.trim_start_matches(['#', '!']).trim();
        if line.starts_with("# ///") {
            is_metadata = !is_metadata;
        } else if !is_metadata
            && !line.starts_with("#!")
            && !words.contains("coding:")
            && !words.starts_with("SPDX")
            && !words.starts_with("Copyright")
            && words.chars().any(char::is_alphabetic)
        {
            return Some(words.to_owned());
        }
    }
    None
}

/// One line that is safe to show.
fn shown(line: &str) -> String {
    let mut letters = line.trim().chars().filter(|c| !c.is_control() && !is_invisible(*c));
    let mut short: String = letters.by_ref().take(MAX_HELP).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_describes_itself() {
        for (text, expected) in [
            ("\"\"\"Fills a form.\"\"\"\n", Some("Fills a form.")),
            (
                "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\n'''\n  Two\nlines'''",
                Some("Two"),
            ),
            ("# /// script\n# dependencies = [\"x\"]\n# ///\nr'raw'\n", Some("raw")),
            ("\"one\"\nx = 'two'", Some("one")),
            ("\"\"\"\"\"\"\n# later", None),
            (
                "import a\np = argparse.ArgumentParser(\n    description='Packs it.\\nNow', x=1)",
                Some("Packs it."),
            ),
            ("p = ArgumentParser(description=(\n  \"\"\"\n  Deep.\"\"\"))", Some("Deep.")),
            ("p = ArgumentParser(description=__doc__)", None),
            ("#!/bin/x\n# Copyright Acme\n# Draws circles.\nimport a", Some("Draws circles.")),
            ("# /// script\n# x\n# ///\nimport a", None),
            ("import a", None),
            ("", None),
            ("\"unfinished", Some("unfinished")),
        ] {
            assert_eq!(of(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn help_is_one_short_visible_line() {
        let text = format!("'''{}\u{202e}\u{7}'''", "é".repeat(500));
        let help = of(&text).unwrap();
        assert_eq!(help.chars().count(), MAX_HELP + 1);
        assert_eq!(of("'''a\u{1b}[2J\u{202e}b'''").as_deref(), Some("a[2Jb"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[ruf#!'\"\\\\\n (=a-zé]{0,60}") {
            drop(of(&text));
            drop(of(&format!("ArgumentParser(description={text}")));
        }
    }
}
