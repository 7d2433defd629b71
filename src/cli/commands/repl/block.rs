//! Which lines are one block of Python: the rule of an interactive prompt.
//!
//! A line is a block, unless it leaves a bracket or a string in triple quotes open, or ends with a
//! backslash. A line that ends with a colon begins a compound block, which ends at an empty line. No
//! line is parsed: the server does that, and its error names the line.

use std::collections::VecDeque;
use std::mem;

/// First words of lines that continue a compound block although they are not indented.
const CONTINUING: [&str; 4] = ["else", "elif", "except", "finally"];

/// The lines of one block so far.
#[derive(Debug, Default)]
pub(super) struct SourceBlock {
    text: String,
    /// Open brackets.
    depth: usize,
    /// The quotes that end the string that is open.
    quotes: Option<&'static str>,
    /// True if the last line ends with a backslash.
    is_continued: bool,
    is_compound: bool,
    /// True if the last line is empty, and not a part of a string.
    is_blank: bool,
}

impl SourceBlock {
    /// True if there is nothing to execute: all lines are empty or comments.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_open()
            && self.text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
    }

    /// True if the block is not complete without another line.
    pub(super) const fn needs_more(&self) -> bool {
        self.is_open() || (self.is_compound && !self.is_blank)
    }

    /// True if the next line belongs to the block whatever it is.
    const fn is_open(&self) -> bool {
        self.depth > 0 || self.quotes.is_some() || self.is_continued
    }

    /// Adds one or several lines.
    pub(super) fn push(&mut self, lines: &str) {
        for line in lines.split('\n') {
            self.push_line(line.trim_end_matches('\r'));
        }
    }

    /// The text of the block, without the empty lines at its end. The block is empty then.
    pub(super) fn take(&mut self) -> String {
        let mut text = mem::take(self).text;
        text.truncate(text.trim_end().len());
        text
    }

    fn push_line(&mut self, line: &str) {
        let was_open = self.is_open();
        let is_first = self.text.is_empty();
        self.is_blank = !was_open && line.trim().is_empty();
        let last = self.scan(line);
        let ends_with_colon = last == Some(':') && self.depth == 0 && self.quotes.is_none();
        let is_decorator = !was_open && line.starts_with('@');
        // A magic of the whole cell.
        let is_magic = is_first && line.starts_with("%%");
        self.is_compound |= ends_with_colon || is_decorator || is_magic;
        if !is_first {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    /// Follows strings and brackets through a line. Returns its last letter that is code.
    fn scan(&mut self, line: &str) -> Option<char> {
        self.is_continued = false;
        let mut last = None;
        let mut rest = line;
        while let Some(letter) = rest.chars().next() {
            let after = rest.get(letter.len_utf8()..).unwrap_or_default();
            rest = after;
            if letter == '\\' {
                let mut escaped = after.chars();
                self.is_continued = escaped.next().is_none();
                rest = escaped.as_str();
                last = Some(letter);
                continue;
            }
            if let Some(quotes) = self.quotes {
                let others = quotes.get(1..).unwrap_or_default();
                if quotes.starts_with(letter)
                    && let Some(after) = after.strip_prefix(others)
                {
                    self.quotes = None;
                    rest = after;
                }
                // What stands in a string is no code, even if its end is missing.
                last = Some('"');
                continue;
            }
            match letter {
                '#' => break,
                '"' | '\'' => {
                    let (one, three) = if letter == '"' { ("\"", "\"\"\"") } else { ("'", "'''") };
                    let others = three.get(1..).unwrap_or_default();
                    let is_triple = after.starts_with(others);
                    self.quotes = Some(if is_triple { three } else { one });
                    rest = after.strip_prefix(others).unwrap_or(after);
                }
                '(' | '[' | '{' => self.depth = self.depth.saturating_add(1),
                ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if !letter.is_whitespace() {
                last = Some(letter);
            }
        }
        // A string in single quotes ends with its line, unless a backslash continues it.
        if self.quotes.is_some_and(|quotes| quotes.len() == 1) && !self.is_continued {
            self.quotes = None;
        }
        last
    }
}

/// The blocks of a file or a pipe, where functions may have empty lines in them.
///
/// One empty line ends a compound block only if the next line is not a part of it, which its
/// indentation tells. Two empty lines end it.
#[derive(Debug, Default)]
pub(super) struct PipedBlocks {
    block: SourceBlock,
    /// True if the block would be complete at a prompt.
    has_ended: bool,
    complete: VecDeque<String>,
}

impl PipedBlocks {
    /// Adds a line.
    pub(super) fn push(&mut self, line: &str) {
        if self.has_ended {
            let belongs = line.starts_with([' ', '\t']) || continues(line);
            let is_blank = line.trim().is_empty();
            if is_blank || !belongs {
                self.finish();
            }
            if is_blank {
                return;
            }
        }
        self.block.push(line);
        // At a prompt an empty line has this effect.
        self.has_ended = self.block.is_compound && self.block.is_blank && !self.block.is_open();
        if !self.has_ended && !self.block.needs_more() {
            self.finish();
        }
    }

    /// Ends the block, whether or not it is complete.
    pub(super) fn finish(&mut self) {
        self.has_ended = false;
        let is_empty = self.block.is_empty();
        let text = self.block.take();
        if !is_empty {
            self.complete.push_back(text);
        }
    }

    /// The next complete block.
    pub(super) fn next(&mut self) -> Option<String> {
        self.complete.pop_front()
    }
}

/// True for a line such as `else:`.
fn continues(line: &str) -> bool {
    let word = line.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    CONTINUING.contains(&word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The blocks that a prompt makes of these lines. The last one may be incomplete.
    fn at_a_prompt(lines: &str) -> Vec<String> {
        let (mut block, mut found) = (SourceBlock::default(), Vec::new());
        for line in lines.split('\n') {
            block.push(line);
            if !block.needs_more() {
                let is_empty = block.is_empty();
                let text = block.take();
                found.extend((!is_empty).then_some(text));
            }
        }
        if !block.is_empty() {
            found.push(format!("{}...", block.take()));
        }
        found
    }

    fn piped(lines: &str) -> Vec<String> {
        let mut blocks = PipedBlocks::default();
        lines.split('\n').for_each(|line| blocks.push(line));
        blocks.finish();
        std::iter::from_fn(|| blocks.next()).collect()
    }

    #[test]
    fn a_line_is_a_block_unless_it_is_incomplete() {
        for (lines, blocks) in [
            ("x = 1\nx", &["x = 1", "x"][..]),
            ("", &[]),
            ("\n  \n# nothing\n", &[]),
            ("f(1,\n  2)", &["f(1,\n  2)"]),
            ("x = [\n\n1]", &["x = [\n\n1]"]),
            ("x = 1 + \\\n2", &["x = 1 + \\\n2"]),
            ("s = '''a:\n\nb'''\ny", &["s = '''a:\n\nb'''", "y"]),
            ("s = \"\"\"a'''\n\"\"\"", &["s = \"\"\"a'''\n\"\"\""]),
            ("s = 'it\\'s (' # [", &["s = 'it\\'s (' # ["]),
            ("s = 'a\\\nb'", &["s = 'a\\\nb'"]),
            ("s = 'open (:\nx", &["s = 'open (:", "x"]),
            ("s = r'\\' + ')'", &["s = r'\\' + ')'"]),
            ("f'{x[\"a\"]}'", &["f'{x[\"a\"]}'"]),
            ("# a:\nx", &["x"]),
            ("x[1:]\n{1: 2}", &["x[1:]", "{1: 2}"]),
            ("')'\n'é:'", &["')'", "'é:'"]),
            ("))\nx", &["))", "x"]),
        ] {
            assert_eq!(at_a_prompt(lines), blocks, "{lines:?}");
        }
    }

    #[test]
    fn a_compound_block_ends_at_an_empty_line() {
        let function = "def f():  # doubles\n    return 2";
        assert_eq!(at_a_prompt(&format!("{function}\n\nf()")), [function, "f()"]);
        assert_eq!(at_a_prompt("if x: y\nz"), ["if x: y", "z"]);
        let decorated = "@cached\ndef f(): return 2";
        assert_eq!(at_a_prompt(&format!("{decorated}\n   ")), [decorated]);
        assert_eq!(at_a_prompt("%%time\nx = 1\ny = 2\n"), ["%%time\nx = 1\ny = 2"]);
        let nested = "for x in y:\n    s = \"\"\"\n\n\"\"\"\n    f(\n\n    )";
        assert_eq!(at_a_prompt(&format!("{nested}\n")), [nested]);
        assert_eq!(at_a_prompt("while x:\n    y"), ["while x:\n    y..."]);
    }

    #[test]
    fn blocks_of_a_file_may_have_empty_lines() {
        let function = "def f():\n    x = 1\n\n    return x";
        assert_eq!(piped(&format!("{function}\n\nf()\n")), [function, "f()"]);
        assert_eq!(piped(&format!("# about\n\n{function}")), [function]);
        let branches = "if x:\n    y\n\nelse:\n    z";
        assert_eq!(piped(&format!("{branches}\n\nelsewhere")), [branches, "elsewhere"]);
        assert_eq!(piped("if x:\n    y\n\n\n    z"), ["if x:\n    y", "    z"]);
        assert_eq!(piped("for x in y:\n    z\nw"), ["for x in y:\n    z\nw"]);
        assert_eq!(piped("x = (1,\r\n2)\r\n"), ["x = (1,\n2)"]);
        assert_eq!(piped("f(1"), ["f(1"]);
    }

    #[test]
    fn a_pipe_gets_its_answer_after_two_empty_lines() {
        let mut blocks = PipedBlocks::default();
        for line in ["if x:", "    y", ""] {
            blocks.push(line);
            assert_eq!(blocks.next(), None, "{line}");
        }
        blocks.push("");
        assert_eq!(blocks.next().as_deref(), Some("if x:\n    y"));
        blocks.push("z");
        assert_eq!(blocks.next().as_deref(), Some("z"));
    }

    proptest! {
        /// Whatever the lines are, each is in one block, in its order.
        #[test]
        fn no_line_is_lost(lines in proptest::collection::vec("[a-c:\\\\'\"#()@% ]{0,8}", 0..12)) {
            let text = lines.join("\n");
            let code = |text: &str| {
                text.split_whitespace().collect::<Vec<_>>().concat()
            };
            let found = piped(&text).concat();
            // Blocks of comments alone are left out.
            if !text.contains('#') {
                prop_assert_eq!(code(&found), code(&text));
            }
        }
    }
}
