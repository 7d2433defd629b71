//! Prints to standard output and standard error. No other code prints.
//!
//! Results go to standard output, messages to standard error. Control characters of untrusted texts
//! are escaped, except in a program's own output. A reader that closes the pipe, such as `head`, is
//! not an error. Any other failure to write to standard output is recorded, and [`stdout_fault`]
//! makes the program fail.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::OnceLock;

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;

/// Prints a text unchanged.
pub(crate) fn print(text: &str) {
    print_bytes(text.as_bytes());
}

/// Prints a line.
pub(crate) fn print_line(line: &str) {
    print(&format!("{line}\n"));
}

/// Prints bytes unchanged.
pub(crate) fn print_bytes(bytes: &[u8]) {
    if let Err(fault) = deliver(bytes) {
        note_stdout_fault(fault);
    }
}

/// The first failure to write to standard output.
static STDOUT_FAULT: OnceLock<io::Error> = OnceLock::new();

/// Records a failure to write to standard output.
pub(crate) fn note_stdout_fault(fault: io::Error) {
    STDOUT_FAULT.set(fault).ok();
}

/// The first failure to write to standard output, such as a full disk. An exit code must not
/// promise output that is incomplete.
pub(crate) fn stdout_fault() -> Option<&'static io::Error> {
    STDOUT_FAULT.get()
}

/// Prints bytes that must be complete. Fails if they cannot be written, unless the reader has
/// closed the pipe.
pub(crate) fn deliver(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).or_else(unless_gone)
}

/// Ignores the error of a closed pipe.
pub(crate) fn unless_gone(fault: io::Error) -> io::Result<()> {
    if fault.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(fault) }
}

/// Prints a text to standard error unchanged.
pub(crate) fn print_error(text: &str) {
    io::stderr().lock().write_all(text.as_bytes()).ok();
}

/// Prints a line to standard error.
pub(crate) fn note(line: &str) {
    print_error(&format!("{line}\n"));
}

/// Prints a value as JSON for people and programs.
pub(crate) fn print_json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => print_line(&text),
        Err(fault) => note(&format!("error: a result cannot be printed as JSON: {fault}")),
    }
}

/// Prints rows in columns: no borders, so that other programs can read them.
pub(crate) fn print_table(header: &[&str], rows: Vec<Vec<String>>) {
    let width = Table::new().width().filter(|_| io::stdout().is_terminal());
    print(&laid_out(header, rows, width));
}

/// Narrowest terminal that tables are fitted into. Serial lines and new pseudo-terminals report a
/// width of 0.
const MIN_WIDTH: u16 = 20;

/// The rows in columns, fitted into `width` if it is the width of a real terminal.
pub(crate) fn laid_out(header: &[&str], rows: Vec<Vec<String>>, width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    if let Some(width) = width.filter(|width| *width >= MIN_WIDTH) {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    } else {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    table.set_header(header.iter().map(|name| name.to_uppercase()));
    for row in rows {
        table.add_row(row.iter().map(|cell| shown(cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A text on one line, its control characters escaped.
pub(crate) fn shown(text: &str) -> String {
    let harmless = |letter: char| match letter {
        '"' | '\'' | '\\' => letter.to_string(),
        _ => letter.escape_debug().to_string(),
    };
    text.chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_text_cannot_move_the_cursor() {
        assert_eq!(shown("a\u{1b}[2J\r\nb\u{202e}"), "a\\u{1b}[2J\\r\\nb\\u{202e}");
        assert_eq!(shown("\"é\" \\"), "\"é\" \\");
    }

    #[test]
    fn rows_stand_in_columns_and_keep_to_their_line() {
        let rows = [["a.b", "first\nsecond"], ["acme.sales.report", "\u{1b}[2J"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        let table = laid_out(&["name", "description"], rows, None);
        insta::assert_snapshot!(table, @r"
        NAME               DESCRIPTION
        a.b                first\nsecond
        acme.sales.report  \u{1b}[2J
        ");
    }

    #[test]
    fn a_terminal_without_a_width_gets_whole_words() {
        let table = |width| {
            let row = vec!["hello.world".to_owned(), "Says hello to somebody.".to_owned()];
            laid_out(&["name", "description"], vec![row], width)
        };
        for unknown in [None, Some(0), Some(1)] {
            assert!(table(unknown).contains("hello.world  Says hello to somebody.\n"));
        }
        assert!(table(Some(30)).lines().all(|line| line.chars().count() <= 30));
        assert!(table(Some(30)).lines().count() > 2, "it is wrapped");
    }

    #[test]
    fn a_closed_pipe_is_ignored_and_a_full_disk_is_not() {
        let ended = |kind: io::ErrorKind| unless_gone(kind.into());
        assert!(ended(io::ErrorKind::BrokenPipe).is_ok());
        assert_eq!(
            ended(io::ErrorKind::StorageFull).unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
    }
}
