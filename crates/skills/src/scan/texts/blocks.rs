//! Programs within texts, and words that are data.

use std::ops::Range;

use crate::scan::finding::{CODE_NOT_SCANNED, Notes};

/// A block of Python in a text.
#[derive(Debug)]
pub(crate) struct CodeBlock {
    pub(crate) bytes: Range<usize>,
    /// Lines before the block.
    pub(crate) line: usize,
}

/// Most programs within one text.
const MAX_BLOCKS: usize = 100;

/// The Python that a shell is given as its input: `python3 - <<'END'` up to `END`.
pub(crate) fn programs_in_shell(
    text: &str,
    bytes: Range<usize>,
    line: usize,
    notes: &mut Notes,
) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    let mut offset = bytes.start;
    let mut open: Option<(String, usize, usize)> = None;
    for (at, row) in text.get(bytes).unwrap_or_default().split_inclusive('\n').enumerate() {
        let (start, number) = (offset, line.saturating_add(at).saturating_add(1));
        offset = offset.saturating_add(row.len());
        if let Some(inner) = one_liner(row).filter(|_| open.is_none() && blocks.len() < MAX_BLOCKS)
        {
            let bytes = start.saturating_add(inner.start)..start.saturating_add(inner.end);
            blocks.push(CodeBlock { bytes, line: number.saturating_sub(1) });
        }
        match &open {
            Some((end, from, before)) if row.trim() == end => {
                blocks.push(CodeBlock { bytes: *from..start, line: *before });
                open = None;
            }
            None if row.contains("python") && blocks.len() < MAX_BLOCKS => {
                let word =
                    row.split_once("<<").map(|(_, rest)| rest.trim_start_matches(['-', ' ', '~']));
                let word = word.and_then(|word| word.split_whitespace().next());
                let word = word.map(|word| word.trim_matches(['"', '\'', '\\']).to_owned());
                open = word.filter(|word| !word.is_empty()).map(|word| (word, offset, number));
            }
            _ => {}
        }
    }
    if blocks.len() >= MAX_BLOCKS {
        notes.note(CODE_NOT_SCANNED, 0, "more programs in commands than are read");
    }
    blocks
}

/// The program in `python3 -c "…"`.
fn one_liner(row: &str) -> Option<Range<usize>> {
    let python = row.find("python")?;
    let flag = row.get(python..)?.find(" -c ")?.saturating_add(python).saturating_add(4);
    let quote = row.get(flag..)?.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let start = flag.saturating_add(1);
    let end = row.get(start..)?.rfind(quote)?.saturating_add(start);
    Some(start..end)
}

/// True for a text that is data: encoded, or a long row of numbers.
pub(crate) fn is_unreadable(text: &str) -> bool {
    const LONG: usize = 60;
    let piece = text.trim();
    piece.len() >= LONG && (is_encoded(piece) || is_base85(piece) || is_numbers(piece))
}

/// A row of numbers, such as `12,250,7`.
fn is_numbers(text: &str) -> bool {
    let commas = text.bytes().filter(|byte| *byte == b',').count();
    commas >= 40 && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b' '))
}

/// Letters, digits and many marks without a space.
fn is_base85(word: &str) -> bool {
    const MARKS: &str = "!#$%&()*+;<=>?@^_`{|}~-";
    let count = |is: &dyn Fn(char) -> bool| word.chars().filter(|letter| is(*letter)).count();
    let marks = count(&|letter| MARKS.contains(letter));
    word.len() >= 80
        && word.is_ascii()
        && !word.contains([' ', '\n', '"', '/', '.'])
        && !word.contains("--")
        && marks.saturating_mul(8) > word.len()
        && count(&|letter| letter.is_ascii_alphanumeric()).saturating_mul(2) > word.len()
        && count(&|letter| letter.is_ascii_uppercase()) > 5
        && count(&|letter| letter.is_ascii_digit()) > 3
}

/// True for a word that is data: letters of both cases and digits, and no path, hash or key.
pub(crate) fn is_encoded(word: &str) -> bool {
    let has = |is: fn(char) -> bool| word.chars().any(is);
    let is_hash = ["sha256-", "sha384-", "sha512-"].iter().any(|hash| word.contains(hash))
        || word.starts_with("sha")
        || word.starts_with("eyJ")
        || word.starts_with("data:")
        || word.contains(";base64");
    let slashes = word.chars().filter(|letter| *letter == '/').count();
    let odd = word
        .chars()
        .filter(|letter| {
            matches!(letter, '.' | '_' | '-' | ':' | '{' | '}' | '[' | '\\' | '|' | '─' | '#')
        })
        .count();
    let changes = word
        .chars()
        .zip(word.chars().skip(1))
        .filter(|(one, next)| one.is_ascii_uppercase() != next.is_ascii_uppercase())
        .count();
    !is_hash
        && word.is_ascii()
        && has(|c| c.is_ascii_lowercase())
        && has(|c| c.is_ascii_uppercase())
        && has(|c| c.is_ascii_digit())
        && slashes.saturating_mul(16) < word.len()
        && odd.saturating_mul(16) < word.len()
        && changes.saturating_mul(6) > word.len()
        && !word.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_data_are_found_in_texts() {
        let text = "x\npython3 - <<'PY'\nprint(1)\nPY\ny";
        let blocks = programs_in_shell(text, 0..text.len(), 0, &mut Notes::of("a"));
        let found: Vec<_> =
            blocks.iter().map(|one| (text.get(one.bytes.clone()).unwrap(), one.line)).collect();
        assert_eq!(found, [("print(1)\n", 2)]);
        let text = "sudo python3 -c 'exec(x)' a\n";
        let blocks = programs_in_shell(text, 0..text.len(), 0, &mut Notes::of("a"));
        assert_eq!(blocks.first().map(|one| text.get(one.bytes.clone()).unwrap()), Some("exec(x)"));
        assert!(is_unreadable(&"12,250,7,".repeat(30)));
        assert!(!is_unreadable(
            "https://example.com/a/long/path/that/is/read/by/people/and/has/Some/9"
        ));
        assert!(!is_unreadable(
            "skills-of-people-that-have-long-names-with-many-dashes-between-all-of-their-words"
        ));
    }
}
