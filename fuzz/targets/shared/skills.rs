//! What the fuzzers of skills' files have in common: promises about findings.

use wardian_formats::skill::diagnostic::Diagnostic;

/// Findings that one file can have: fifty errors and fifty warnings, and one that says so.
const MAX_FINDINGS: usize = 110;

/// Text that goes to terminals and to models: nothing in it is hidden or drives a terminal.
pub fn assert_printable(text: &str) {
    let hides = |letter: char| {
        (letter.is_control() && !matches!(letter, '\n' | '\t'))
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    assert!(!text.chars().any(hides), "{text:?} hides something");
}

/// Findings about `text`, the content of `file`, are printable, few, and point into it.
pub fn check_diagnostics(diagnostics: &[Diagnostic], file: &str, text: &[u8]) {
    let text = std::str::from_utf8(text).ok();
    assert!(diagnostics.len() <= MAX_FINDINGS, "{} findings", diagnostics.len());
    for found in diagnostics.iter().filter(|found| found.file == file) {
        assert_printable(&found.to_string());
        assert!(found.to_string().len() < 4_000, "an endless finding: {found}");
        let Some((place, text)) = found.place.as_ref().zip(text) else { continue };
        assert!(text.get(place.span.clone()).is_some(), "{found} points nowhere: {place:?}");
        assert!(place.line >= 1 && place.column >= 1);
    }
    if let (Some(found), Some(text)) = (diagnostics.first(), text) {
        if text.len() < 1_000 {
            std::hint::black_box(format!("{:?}", found.to_report(Some(text))));
        }
    }
}

/// The folder's name that a finding asks for, if everything else could be right.
pub fn folder_asked_for(diagnostics: &[Diagnostic]) -> Option<String> {
    let found = diagnostics.iter().find(|found| found.code == "folder-name")?;
    let help = found.help.as_ref()?;
    Some(help.rsplit('`').nth(1)?.to_owned())
}
