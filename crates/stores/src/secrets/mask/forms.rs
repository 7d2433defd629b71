//! The forms in which a value can turn up: itself, and what encoders make of it.

use std::fmt::Write as _;

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};

/// Shortest value, in bytes, that is searched for. Shorter ones would be found in other text.
pub(crate) const MIN_VALUE: usize = 6;

/// Shortest value whose spelling in other cases is searched for: long enough to be no word.
const MIN_OTHER_CASE: usize = 16;

/// Longest piece, in bytes. A long value is searched for in pieces, so that a part of it is found,
/// too, and no form is long.
const PIECE: usize = 96;

/// Longest value, in bytes, of which rarer forms are searched for, too: keys and passwords.
pub(super) const MAX_KEY: usize = 512;

/// What is written in place of characters.
type Escapes = &'static [(char, &'static str)];

/// What templates and serializers write in place of characters that have a meaning in HTML, besides
/// [`MARKUP`].
const HTML_ESCAPES: [Escapes; 10] = [
    // text in elements, where quotes stay
    &[],
    // attributes in double quotes
    &[('"', "&quot;")],
    // Python's `html`, Django
    &[('"', "&quot;"), ('\'', "&#x27;")],
    // Rails, Spring, Lodash
    &[('"', "&quot;"), ('\'', "&#39;")],
    // Jinja, Go's `html`
    &[('"', "&#34;"), ('\'', "&#39;")],
    // Go's `html/template`
    &[('"', "&#34;"), ('\'', "&#39;"), ('+', "&#43;")],
    // PHP
    &[('"', "&quot;"), ('\'', "&#039;")],
    // PHP for HTML 5, serializers of XML
    &[('"', "&quot;"), ('\'', "&apos;")],
    // Handlebars
    &[('"', "&quot;"), ('\'', "&#x27;"), ('`', "&#x60;"), ('=', "&#x3D;")],
    // mustache.js
    &[('"', "&quot;"), ('\'', "&#39;"), ('/', "&#x2F;"), ('`', "&#x60;"), ('=', "&#x3D;")],
];

/// What all of them write.
const MARKUP: Escapes = &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;")];

/// What serializers of JSON write so that the text can stand in HTML.
const JSON_ESCAPES: [Escapes; 5] = [
    // Go, Rails
    &[('&', "\\u0026"), ('<', "\\u003c"), ('>', "\\u003e")],
    // Gson
    &[('&', "\\u0026"), ('<', "\\u003c"), ('>', "\\u003e"), ('=', "\\u003d"), ('\'', "\\u0027")],
    // Django's `json_script`
    &[('&', "\\u0026"), ('<', "\\u003C"), ('>', "\\u003E")],
    // PHP with its flags for HTML
    &[
        ('&', "\\u0026"),
        ('<', "\\u003C"),
        ('>', "\\u003E"),
        ('\'', "\\u0027"),
        ('"', "\\u0022"),
        ('/', "\\/"),
    ],
    // .NET
    &[
        ('&', "\\u0026"),
        ('<', "\\u003C"),
        ('>', "\\u003E"),
        ('\'', "\\u0027"),
        ('"', "\\u0022"),
        ('`', "\\u0060"),
        ('+', "\\u002B"),
    ],
];

/// Cuts a value into pieces of [`MIN_VALUE`] to about [`PIECE`] bytes.
pub(super) fn pieces(value: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = value;
    while rest.len() > PIECE.saturating_add(MIN_VALUE) {
        let end = (0..=PIECE).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(PIECE);
        let Some((piece, more)) = rest.split_at_checked(end) else { break };
        pieces.push(piece);
        rest = more;
    }
    pieces.push(rest);
    pieces
}

/// All forms of a piece, always in the same order, with the rarer ones if it is of a key. Two texts
/// of one shape have forms of the same lengths.
pub(super) fn forms(piece: &str, is_key: bool) -> Vec<Vec<u8>> {
    let bytes = piece.as_bytes();
    let mut forms = vec![bytes.to_vec()];
    let mut add = |form: String| forms.push(form.into_bytes());
    add(piece.chars().rev().collect());
    for offset in 0..3 {
        let padded = [vec![0; offset].as_slice(), bytes].concat();
        add(inner(&BASE64_NOPAD.encode(&padded), offset, padded.len()));
        add(inner(&BASE64URL_NOPAD.encode(&padded), offset, padded.len()));
    }
    add(HEXLOWER.encode(bytes));
    add(HEXUPPER.encode(bytes));
    for digits in [HexDigits::Upper, HexDigits::Lower] {
        add(percent_encoded(bytes, b"", digits));
        add(percent_encoded(bytes, b"/", digits));
        add(percent_encoded(bytes, b" ", digits).replace(' ', "+"));
    }
    let json = json_of(piece);
    let json_of_php = json.replace('/', "\\/");
    add(ascii_only(&json_of_php));
    add(json_of_php);
    add(ascii_only(&json));
    add(json);
    if is_key {
        add_rarer_forms(piece, &json_of(piece), &mut add);
    }
    if piece.len() >= MIN_OTHER_CASE {
        add(piece.to_ascii_lowercase());
        add(piece.to_ascii_uppercase());
    }
    forms
}

/// Forms that hosts write when they show what they were sent: escaped for HTML, and encoded twice.
fn add_rarer_forms(piece: &str, json: &str, add: &mut impl FnMut(String)) {
    let bytes = piece.as_bytes();
    for escapes in HTML_ESCAPES {
        add(escaped(piece, |letter| escape_of(letter, MARKUP).or(escape_of(letter, escapes))));
        add(escaped(json, |letter| escape_of(letter, MARKUP).or(escape_of(letter, escapes))));
    }
    for escapes in JSON_ESCAPES {
        let json = json_with(piece, escapes);
        add(ascii_only(&json));
        add(json);
    }
    add(json_of(json));
    // encodeURIComponent, encodeURI
    add(percent_encoded(bytes, b"!'()*", HexDigits::Upper));
    add(percent_encoded(bytes, b"!'()*;,/?:@&=+$#", HexDigits::Upper));
    for safe in [b"".as_slice(), b"/", b"!'()*"] {
        add(percent_encoded(bytes, safe, HexDigits::Upper).replace('%', "%25"));
    }
    for offset in 0..3 {
        let padded = [vec![0; offset].as_slice(), bytes].concat();
        let once = inner(&BASE64_NOPAD.encode(&padded), offset, padded.len());
        add(percent_encoded(once.as_bytes(), b"", HexDigits::Upper));
        for offset in 0..3 {
            let padded = [vec![0; offset].as_slice(), once.as_bytes()].concat();
            add(inner(&BASE64_NOPAD.encode(&padded), offset, padded.len()));
        }
    }
    if piece.is_ascii() {
        // UTF-16: the high byte behind or before each character.
        let wide: String = piece.chars().flat_map(|letter| [letter, '\0']).collect();
        add(wide.trim_end_matches('\0').to_owned());
    }
}

/// The text as JSON writes it, without the quotes around it.
fn json_of(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// The text as JSON writes it with further escapes, without the quotes around it.
fn json_with(text: &str, escapes: Escapes) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut written, letter| {
        match escape_of(letter, escapes) {
            Some(escape) => written.push_str(escape),
            None => written.push_str(&json_of(letter.encode_utf8(&mut [0; 4]))),
        }
        written
    })
}

fn escaped(text: &str, escape: impl Fn(char) -> Option<&'static str>) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        match escape(letter) {
            Some(escape) => written.push_str(escape),
            None => written.push(letter),
        }
    }
    written
}

fn escape_of(letter: char, escapes: Escapes) -> Option<&'static str> {
    escapes.iter().find(|(escaped, _)| *escaped == letter).map(|(_, escape)| *escape)
}

/// The characters of an encoded text that depend on no bytes before `start` and behind `end`.
fn inner(encoded: &str, start: usize, end: usize) -> String {
    let first = start.saturating_mul(8).div_ceil(6);
    let last = end.saturating_mul(8) / 6;
    encoded.get(first..last).unwrap_or_default().to_owned()
}

#[derive(Debug, Clone, Copy)]
enum HexDigits {
    Upper,
    Lower,
}

/// Encodes all bytes but letters, digits, `-._~` and those of `safe`.
fn percent_encoded(bytes: &[u8], safe: &[u8], digits: HexDigits) -> String {
    let mut text = String::new();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) || safe.contains(byte) {
            text.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            match digits {
                HexDigits::Upper => write!(text, "%{byte:02X}").ok(),
                HexDigits::Lower => write!(text, "%{byte:02x}").ok(),
            };
        }
    }
    text
}

/// JSON with escapes in place of what is not ASCII, as Python writes it.
fn ascii_only(json: &str) -> String {
    let mut text = String::new();
    for letter in json.chars() {
        if letter.is_ascii() {
            text.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            write!(text, "\\u{unit:04x}").ok();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use data_encoding::{BASE64, BASE64URL};

    use super::*;

    const VALUE: &str = "pa$$ w0rd/é\"?>~key";

    fn has(text: &str) -> bool {
        forms(VALUE, true)
            .iter()
            .any(|form| text.as_bytes().windows(form.len()).any(|part| part == form))
    }

    #[test]
    fn base64_is_found_at_every_offset() {
        for before in 0..7 {
            for after in 0..4 {
                let text = format!("{}{VALUE}{}", "x".repeat(before), "y".repeat(after));
                assert!(has(&BASE64.encode(text.as_bytes())), "{before} {after}");
                assert!(has(&BASE64URL.encode(text.as_bytes())), "{before} {after}");
            }
        }
    }

    #[test]
    fn what_encoders_of_python_write_is_found() {
        for text in [
            // json.dumps, json.dumps(ensure_ascii=False), with escaped slashes
            r#"{"k": "pa$$ w0rd/\u00e9\"?>~key"}"#,
            r#"{"k": "pa$$ w0rd/é\"?>~key"}"#,
            r#"{"k": "pa$$ w0rd\/é\"?>~key"}"#,
            // urllib.parse.quote, quote(safe=""), quote_plus, and with digits in lower case
            "pa%24%24%20w0rd/%C3%A9%22%3F%3E~key",
            "pa%24%24%20w0rd%2F%C3%A9%22%3F%3E~key",
            "pa%24%24+w0rd%2F%C3%A9%22%3F%3E~key",
            "pa%24%24%20w0rd%2f%c3%a9%22%3f%3e~key",
            "yek~>?\"é/dr0w $$ap",
        ] {
            assert!(has(text), "{text}");
        }
        assert!(has(&HEXLOWER.encode(VALUE.as_bytes())) && has(&HEXUPPER.encode(VALUE.as_bytes())));
        assert!(!has("pa$$ w0rd/é\"?>~ke"));
    }

    #[test]
    fn what_hosts_write_when_they_show_a_request_is_found() {
        for text in [
            // HTML by Python, Go, mustache.js, and within an element
            "pa$$ w0rd/é&quot;?&gt;~key",
            "pa$$ w0rd/é&#34;?&gt;~key",
            "pa$$ w0rd&#x2F;é&quot;?&gt;~key",
            "pa$$ w0rd/é\"?&gt;~key",
            // JSON by Go, Django, PHP, .NET, in attributes, and in JSON
            r#"pa$$ w0rd/é\"?\u003e~key"#,
            r#"pa$$ w0rd/\u00e9\"?\u003E~key"#,
            r"pa$$ w0rd\/\u00e9\u0022?\u003E~key",
            r"pa$$ w0rd/é\u0022?\u003E~key",
            r"pa$$ w0rd/é\&quot;?&gt;~key",
            r"pa$$ w0rd/é\&#34;?&gt;~key",
            r#"pa$$ w0rd\/\u00e9\"?>~key"#,
            r#"{"k": "{\"v\": \"pa$$ w0rd/é\\\"?>~key\"}"}"#,
            // encodeURI, and quote twice
            "pa$$%20w0rd/%C3%A9%22?%3E~key",
            "pa%2524%2524%2520w0rd%252F%25C3%25A9%2522%253F%253E~key",
        ] {
            assert!(has(text), "{text}");
        }
        let twice = BASE64.encode(BASE64.encode(format!("user:{VALUE}").as_bytes()).as_bytes());
        assert!(has(&twice), "{twice}");
        let wide: Vec<u8> = "a sk-12345".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let form = forms("sk-12345", true).into_iter().find(|form| form.contains(&0)).unwrap();
        assert!(wide.windows(form.len()).any(|part| part == form));
    }

    #[test]
    fn quotes_are_found_in_the_words_of_every_template_engine() {
        let value = "a'b\"c`d=e+f/g<h";
        let forms = forms(value, true);
        for text in [
            "a&#x27;b&quot;c`d=e+f/g&lt;h",
            "a&#39;b&quot;c`d=e+f/g&lt;h",
            "a&#39;b&#34;c`d=e+f/g&lt;h",
            "a&#39;b&#34;c`d=e&#43;f/g&lt;h",
            "a&#039;b&quot;c`d=e+f/g&lt;h",
            "a&apos;b&quot;c`d=e+f/g&lt;h",
            "a'b&quot;c`d=e+f/g&lt;h",
            "a&#x27;b&quot;c&#x60;d&#x3D;e+f/g&lt;h",
            "a&#39;b&quot;c&#x60;d&#x3D;e+f&#x2F;g&lt;h",
            r"a\u0027b\u0022c\u0060d=e\u002Bf/g\u003Ch",
            r"a\u0027b\u0022c`d=e+f\/g\u003Ch",
            r#"a'b\"c`d=e+f/g\u003Ch"#,
            r#"a\u0027b\"c`d\u003de+f/g\u003ch"#,
        ] {
            assert!(forms.iter().any(|form| form == text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn long_values_are_cut_between_characters_and_no_piece_is_short() {
        for value in ["é".repeat(500), "k".repeat(97), "k".repeat(102), "k".repeat(103), "k".into()]
        {
            let pieces = pieces(&value);
            assert_eq!(pieces.concat(), value);
            assert!(pieces.iter().all(|piece| piece.len() <= PIECE + MIN_VALUE));
            assert!(pieces.len() == 1 || pieces.iter().all(|piece| piece.len() >= MIN_VALUE));
        }
    }

    #[test]
    fn texts_of_one_shape_have_forms_of_the_same_lengths() {
        let value = "sk_live_51Hx/Ab+CdEf GhIj\"Kl\\Mn==";
        let other = crate::secrets::placeholder::draw(value).unwrap();
        let lengths = |text: &str| forms(text, true).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(value), lengths(&other));
    }
}
