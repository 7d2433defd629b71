//! Finds text that people do not see: tag characters, zero-width characters, variation selectors,
//! reordering, and control characters.

use crate::scan::excerpt::{is_bidi, is_selector, is_tag, is_zero_width};
use crate::scan::finding::{BIDI, CONTROL, HIDDEN_DATA, Notes, TAGS, ZERO_WIDTH};

/// So many invisible characters in a row hide data; honest scripts and emoji need fewer.
const HIDING_RUN: usize = 8;

/// Looks at each line of a text.
pub(crate) fn look_at_hidden(text: &str, notes: &mut Notes) {
    let is_right_to_left = text.chars().any(|letter| {
        matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}')
    });
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (at, line) in
        text.lines().enumerate().filter(|(_, line)| !line.is_ascii() || has_control(line))
    {
        look_at_line(line, at.saturating_add(1), is_right_to_left, notes);
    }
}

fn has_control(line: &str) -> bool {
    line.bytes().any(|byte| (byte < 0x20 && byte != b'\t' && byte != 0x0c) || byte == 0x7f)
}

fn look_at_line(line: &str, at: usize, is_right_to_left: bool, notes: &mut Notes) {
    let (mut tags, mut run, mut zero_width, mut selectors) =
        (String::new(), 0_usize, 0_usize, 0_usize);
    let mut before = ' ';
    let mut is_flag = false;
    for letter in line.chars() {
        // A black flag with tags is an emoji: the flag of a region.
        is_flag = letter == '\u{1f3f4}' || (is_flag && is_tag(letter));
        if is_tag(letter) && !is_flag {
            tags.extend(char::from_u32(u32::from(letter).saturating_sub(0xe0000)));
        }
        selectors = if is_selector(letter) { selectors.saturating_add(1) } else { 0 };
        run = if is_zero_width(letter) || is_selector(letter) { run.saturating_add(1) } else { 0 };
        if run >= HIDING_RUN || selectors >= 3 {
            notes.note(HIDDEN_DATA, at, line);
        }
        // Scripts and emoji need joiners; Latin words do not.
        if is_zero_width(letter) && before.is_ascii_alphanumeric() {
            zero_width = zero_width.saturating_add(1);
        }
        if is_bidi(letter) && !is_right_to_left {
            notes.note(BIDI, at, line);
        }
        if (letter.is_control() && !matches!(letter, '\t' | '\u{c}' | '\r')) || letter == '\u{7f}' {
            notes.note(CONTROL, at, line);
        }
        if matches!(letter, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}')
            && (before.is_ascii_alphanumeric() || before == letter)
        {
            notes.note_once(ZERO_WIDTH, at, line);
        }
        before = letter;
    }
    if zero_width > 0 {
        notes.note_once(ZERO_WIDTH, at, line);
    }
    if tags.chars().filter(|letter| !letter.is_control()).count() >= 2 {
        notes.note(TAGS, at, &format!("hidden: {tags}"));
    }
}

/// The text without invisible characters, and tags as the ASCII that a model reads, as words of their own.
pub(crate) fn revealed(text: &str) -> String {
    let (mut shown, mut was_tag) = (String::with_capacity(text.len()), false);
    for letter in text.chars() {
        if is_tag(letter) != was_tag {
            was_tag = !was_tag;
            shown.push(' ');
        }
        if is_tag(letter) {
            let plain = char::from_u32(u32::from(letter).saturating_sub(0xe0000));
            shown.extend(plain.filter(|plain| !plain.is_control()));
        } else if !is_zero_width(letter)
            && !is_bidi(letter)
            && !is_selector(letter)
            && letter != '\u{ad}'
        {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::ScanLevel;

    fn codes(text: &str) -> Vec<&'static str> {
        let mut notes = Notes::of("SKILL.md");
        look_at_hidden(text, &mut notes);
        notes.found.iter().map(|one| one.code).collect()
    }

    #[test]
    fn hidden_text_is_found_and_shown() {
        let tags: String =
            "run it".chars().filter_map(|c| char::from_u32(0xe0000 + c as u32)).collect();
        let mut notes = Notes::of("SKILL.md");
        look_at_hidden(&format!("fine\nhello{tags} world"), &mut notes);
        let found = &notes.found[0];
        assert_eq!(
            (found.code, found.line, found.level),
            ("tag-characters", Some(2), ScanLevel::Danger)
        );
        assert_eq!(found.excerpt, "hidden: run it");
        assert_eq!(codes("ig\u{200b}nore"), ["invisible-characters"]);
        assert_eq!(codes(&format!("x{}", "\u{200b}\u{200c}".repeat(8)))[0], "hidden-data");
        assert_eq!(codes(&format!("x{}", "\u{e0120}".repeat(4))), ["hidden-data"]);
        assert_eq!(codes("access = \"user\u{202e} \u{2066}# admin\""), ["reordered-text"]);
        assert_eq!(codes("\u{1b}[2Jgone"), ["control-characters"]);
        assert_eq!(revealed(&format!("a\u{200b}b{tags}")), "ab run it");
    }

    #[test]
    fn emoji_flags_and_other_scripts_are_honest() {
        let england = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{26a0}\u{fe0f}";
        let persian = "می\u{200c}خواهم \u{2067}abc\u{2069}";
        assert_eq!(
            codes(&format!("\u{feff}# {england} {family}\n{persian}\nनमस्\u{200d}ते")),
            Vec::<&str>::new()
        );
    }
}
