//! Finds a bracket that is never closed. The parser reports an error lines later, and its message
//! about that line is misleading.

/// A bracket that is still open where it must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unclosed {
    /// Its place.
    pub at: usize,
    /// The bracket that would close it.
    pub closing: char,
}

/// A bracket that was opened.
#[derive(Debug, Clone, Copy)]
struct Open {
    at: usize,
    closing: char,
    /// It opens the header of a table, which ends on its line.
    is_header: bool,
}

impl Open {
    const fn unclosed(self) -> Unclosed {
        Unclosed { at: self.at, closing: self.closing }
    }
}

/// Returns the first bracket of the TOML `text` that is not closed before the next setting, the
/// next table, a closing bracket of another kind, or the end. The text may have other mistakes.
pub(crate) fn find_unclosed(text: &str) -> Option<Unclosed> {
    let mut open: Vec<Open> = Vec::new();
    let mut at: usize = 0;
    let mut is_line_start = true;
    // The last letter that is not white space and in no comment.
    let mut before = '\n';
    while let Some(rest) = text.get(at..) {
        let Some(letter) = rest.chars().next() else { break };
        if is_line_start && let Some(innermost) = open.last() {
            let line = rest.trim_start_matches([' ', '\t']);
            let is_next_setting =
                begins_setting(line) && (innermost.closing == ']' || before != ',');
            let is_first = innermost.closing == '}' && before == '{';
            if innermost.is_header || begins_table(line) || (is_next_setting && !is_first) {
                return Some(innermost.unclosed());
            }
        }
        let length = match letter {
            '"' | '\'' => string_length(rest)?,
            '#' => rest.find('\n').unwrap_or(rest.len()),
            _ => letter.len_utf8(),
        };
        match letter {
            '[' => {
                let is_second = open.last().is_some_and(|one| one.is_header);
                let is_header = is_second || (open.is_empty() && is_line_start);
                open.push(Open { at, closing: ']', is_header });
            }
            '{' => open.push(Open { at, closing: '}', is_header: false }),
            ']' | '}' => {
                // A closing bracket without an opening one is a different mistake.
                let innermost = open.pop()?;
                if innermost.closing != letter {
                    return Some(innermost.unclosed());
                }
            }
            _ => {}
        }
        is_line_start = letter == '\n' || (is_line_start && matches!(letter, ' ' | '\t' | '\r'));
        if !letter.is_whitespace() && letter != '#' {
            before = letter;
        }
        at = at.saturating_add(length);
    }
    open.last().map(|open| open.unclosed())
}

/// True for a line such as `key = …`.
fn begins_setting(line: &str) -> bool {
    let line = line.lines().next().unwrap_or_default();
    let Some((key, _)) = line.split_once('=') else { return false };
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let is_part = |part: &str| {
        let part = part.trim();
        let is_quoted = |quote: char| {
            let inside = part.strip_prefix(quote).and_then(|part| part.strip_suffix(quote));
            inside.is_some_and(|inside| !inside.contains(quote))
        };
        let is_bare = !part.is_empty() && part.chars().all(is_letter);
        is_bare || is_quoted('"') || is_quoted('\'')
    };
    key.split('.').all(is_part)
}

/// True for a line such as `[table]` or `[[table]]`, and not for an array in an array.
fn begins_table(line: &str) -> bool {
    let line = line.lines().next().unwrap_or_default();
    let Some((head, _)) = line.split_once(']') else { return false };
    let Some(name) = head.strip_prefix('[') else { return false };
    let name = name.strip_prefix('[').unwrap_or(name).trim();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(is_letter)
        && !["true", "false", "inf", "nan"].contains(&name)
}

/// The length of the string at the start of `text`; `None` if the string does not end, which is a
/// different mistake.
fn string_length(text: &str) -> Option<usize> {
    let quote = text.get(..1)?;
    let triple = quote.repeat(3);
    let is_long = text.starts_with(&triple);
    let end = if is_long { triple.as_str() } else { quote };
    let mut at = end.len();
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with(end) {
            // Up to two quotes may precede the three that end a long string.
            let more = rest.bytes().take_while(|byte| quote.as_bytes().contains(byte)).count();
            let length = if is_long { more.min(5) } else { 1 };
            return Some(at.saturating_add(length));
        }
        let mut letters = rest.chars();
        let letter = letters.next()?;
        if letter == '\n' && !is_long {
            return None;
        }
        at = at.saturating_add(letter.len_utf8());
        if letter == '\\' && quote == "\"" {
            at = at.saturating_add(letters.next().map_or(0, char::len_utf8));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_unclosed_bracket_is_found() {
        for (text, line, closing) in [
            ("tags = [\"a\"\nname = \"x\"\n", 0, ']'),
            ("a = 1\ntags = [\"a\", # ]\n  \"b]\"\n\n[runtime]\nx = 1\n", 1, ']'),
            ("[inputs]\nn = { type = \"string\"\nm = 1\n", 1, '}'),
            ("a = { b = [1, 2 }\nc = 1\n", 0, ']'),
            ("a = [{ b = 1 ]\nc = 1\n", 0, '}'),
            ("[runtime\nlanguage = \"python\"\n", 0, ']'),
            ("[[runs\nlanguage = \"python\"\n", 0, ']'),
            ("x = [[1, 2], [3\n", 0, ']'),
            ("x = [\n  1,\n", 0, ']'),
            ("x = [\n  [1,\ny = 2\n", 1, ']'),
        ] {
            let found = find_unclosed(text).unwrap_or_else(|| panic!("{text}"));
            let before = text.get(..found.at).unwrap();
            let found = (before.matches('\n').count(), found.closing);
            assert_eq!(found, (line, closing), "{text}");
        }
    }

    #[test]
    fn valid_text_has_no_unclosed_bracket() {
        for text in [
            "",
            "tags = [\n  \"a = 1\",\n  'b]',\n]\nname = \"x\"\n",
            "x = [\n  [1, 2],\n  [true],\n  [],\n]\n[[t]]\na = { b = 1, c = [2] }\n",
            "a = {\n  b = 1,\n  c = 2,\n}\n",
            "s = \"\"\"\n[ { \\\"\n\"\"\"\nt = '''\n[ '\n'''\nu = '''a'''''\n",
            "a = 1 # [\n\"q[\" = 2\n[a2.'b']\n",
        ] {
            assert!(text.parse::<toml::Table>().is_ok(), "{text}");
            assert_eq!(find_unclosed(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[\\[\\]{}=\"'#\\\\a1,. \n\u{e9}]{0,60}") {
            if text.parse::<toml::Table>().is_ok() {
                prop_assert_eq!(find_unclosed(&text), None);
            }
        }
    }
}
