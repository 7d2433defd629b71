//! The words of a command line that stands in one text, as a shell would split it.

/// Splits a command into its words. Quotes and backslashes have the meaning that they have in a shell; nothing is
/// expanded.
///
/// # Errors
///
/// A quote that does not end, as the end of a sentence.
pub(super) fn command_words(text: &str) -> Result<Vec<String>, &'static str> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match (quote, sign) {
            (Some(end), _) if sign == end => quote = None,
            (None, '\'' | '"') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                word.get_or_insert_default().extend(escaped(quote.is_some(), signs.next()));
            }
            (None, _) if sign.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(sign),
        }
    }
    if quote.is_some() {
        return Err("has a quote that does not end");
    }
    words.extend(word);
    Ok(words)
}

/// What a backslash and the sign behind it stand for. Between quotes most signs keep it.
fn escaped(is_quoted: bool, sign: Option<char>) -> Vec<char> {
    match sign {
        Some(sign) if is_quoted && !"\\\"$`".contains(sign) => vec!['\\', sign],
        Some(sign) => vec![sign],
        None => vec!['\\'],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (text, expected) in [
            ("npx -y  @scope/server ", &["npx", "-y", "@scope/server"][..]),
            ("a 'b c' \"d e\"f", &["a", "b c", "d ef"]),
            (r#"a\ b "c\"d\e" 'f\g' h\"#, &["a b", r#"c"d\e"#, r"f\g", r"h\"]),
            ("a ''", &["a", ""]),
            (" ", &[]),
        ] {
            assert_eq!(command_words(text).unwrap(), expected, "{text}");
        }
        assert!(command_words("a 'b").is_err() && command_words("a \"b").is_err());
    }
}
