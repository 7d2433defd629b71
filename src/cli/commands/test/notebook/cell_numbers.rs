//! The numbers of a notebook's cells. In their session they have others: it begins with the files of the project,
//! and cells that are skipped are not in it.

use std::collections::BTreeMap;

/// How a traceback names the cell that a frame is in, up to its number.
const PLACE: &str = "File \"<cell ";

/// The numbers in the notebook, by those in the session.
#[derive(Debug, Default)]
pub(crate) struct CellNumbers(BTreeMap<u32, usize>);

impl CellNumbers {
    /// Notes that the cell with this number in the session has that one in the notebook.
    pub(crate) fn note(&mut self, in_session: u32, in_notebook: usize) {
        self.0.insert(in_session, in_notebook);
    }

    /// A traceback whose frames have the numbers of the notebook.
    pub(crate) fn renumbered(&self, traceback: &str) -> String {
        let mut parts = traceback.split(PLACE);
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (number, rest) = part.split_once('>').unwrap_or((part, ""));
            let known = number.parse().ok().and_then(|number| self.0.get(&number));
            text.push_str(PLACE);
            match known {
                Some(known) => text.push_str(&format!("{known}>{rest}")),
                None => text.push_str(part),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_numbers_of_the_notebook() {
        let mut numbers = CellNumbers::default();
        numbers.note(2, 1);
        numbers.note(3, 4);
        let traceback = "Traceback:\n  File \"<cell 3>\", line 1, in <module>\n  File \"<cell 2>\", line 2, in f\n  \
                         File \"<cell 1>\", line 1\n  File \"<cell x\nValueError: <cell 3>";
        let expected = "Traceback:\n  File \"<cell 4>\", line 1, in <module>\n  File \"<cell 1>\", line 2, in f\n  \
                        File \"<cell 1>\", line 1\n  File \"<cell x\nValueError: <cell 3>";
        assert_eq!(numbers.renumbered(traceback), expected);
        assert_eq!(numbers.renumbered(""), "");
    }
}
