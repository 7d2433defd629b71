//! Splits Python into tokens. Comments vanish, texts are told from code, and the expressions within
//! an f-string become code. Linear, and lenient: text that is no Python gives some tokens too.

use std::iter::Peekable;
use std::str::Chars;

/// Most tokens of one file; a longer file is looked at so far.
const MAX_TOKENS: usize = 400_000;

/// Deepest f-strings within f-strings.
const MAX_NESTED: usize = 3;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Name,
    Text,
    Number,
    Operator,
    /// The end of a statement; its text is empty.
    End,
}

/// A token of Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PythonToken {
    pub(crate) kind: TokenKind,
    /// The name or operator, or the text without quotes and escapes.
    pub(crate) text: String,
    /// Line, counted from 1.
    pub(crate) line: usize,
    /// The column of the first token of its line.
    pub(crate) indent: usize,
}

impl PythonToken {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text && matches!(self.kind, TokenKind::Name | TokenKind::Operator)
    }
}

/// The tokens of a text, and whether they are all of it.
pub(crate) fn tokens_of(text: &str) -> (Vec<PythonToken>, bool) {
    let mut lexer = Lexer::of(text, 1, 0);
    lexer.run();
    lexer.push(TokenKind::End, String::new());
    (lexer.tokens, lexer.is_whole)
}

struct Lexer<'t> {
    rest: Peekable<Chars<'t>>,
    tokens: Vec<PythonToken>,
    line: usize,
    indent: usize,
    depth: usize,
    nested: usize,
    is_whole: bool,
}

impl<'t> Lexer<'t> {
    fn of(text: &'t str, line: usize, nested: usize) -> Self {
        Self {
            rest: text.chars().peekable(),
            tokens: Vec::new(),
            line,
            indent: 0,
            depth: 0,
            nested,
            is_whole: true,
        }
    }

    fn push(&mut self, kind: TokenKind, text: String) {
        self.tokens.push(PythonToken { kind, text, line: self.line, indent: self.indent });
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.rest.next();
        if letter == Some('\n') {
            self.line = self.line.saturating_add(1);
        }
        letter
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(letter) = self.rest.next_if(|letter| is_part(*letter)) {
            if letter == '\n' {
                self.line = self.line.saturating_add(1);
            }
            taken.push(letter);
        }
        taken
    }

    fn run(&mut self) {
        self.indent = self.take_while(|letter| matches!(letter, ' ' | '\t')).len();
        while let Some(letter) = self.rest.peek().copied() {
            if self.tokens.len() >= MAX_TOKENS {
                self.is_whole = false;
                return;
            }
            match letter {
                '\n' => self.line_end(),
                '#' => drop(self.take_while(|letter| letter != '\n')),
                '\\' => {
                    self.next();
                    self.take_while(|letter| letter == '\r');
                    if self.rest.peek() == Some(&'\n') {
                        self.next();
                    }
                }
                '"' | '\'' => self.text(""),
                _ if letter.is_alphabetic() || letter == '_' => self.word(),
                _ if letter.is_ascii_digit() => {
                    let number = self.take_while(|letter| {
                        letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_')
                    });
                    self.push(TokenKind::Number, number);
                }
                _ if letter.is_whitespace() => drop(self.next()),
                _ => self.operator(letter),
            }
        }
    }

    fn line_end(&mut self) {
        if self.depth == 0 && self.tokens.last().is_some_and(|last| last.kind != TokenKind::End) {
            self.push(TokenKind::End, String::new());
        }
        self.next();
        let indent = self.take_while(|letter| matches!(letter, ' ' | '\t')).len();
        if self.depth == 0 {
            self.indent = indent;
        }
    }

    fn word(&mut self) {
        let word = self.take_while(|letter| letter.is_alphanumeric() || letter == '_');
        let is_prefix = word.len() <= 2
            && word
                .chars()
                .all(|letter| matches!(letter.to_ascii_lowercase(), 'r' | 'b' | 'u' | 'f' | 't'));
        if is_prefix && matches!(self.rest.peek(), Some('"' | '\'')) {
            return self.text(&word.to_ascii_lowercase());
        }
        // A keyword at the start of a line shows that a bracket was never closed.
        let is_statement = matches!(word.as_str(), "def" | "class" | "import" | "return" | "while");
        if is_statement && self.depth > 0 {
            self.depth = 0;
            self.push(TokenKind::End, String::new());
        }
        self.push(TokenKind::Name, word);
    }

    fn operator(&mut self, letter: char) {
        self.next();
        match letter {
            '(' | '[' | '{' => self.depth = self.depth.saturating_add(1),
            ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            ';' if self.depth == 0 => return self.push(TokenKind::End, String::new()),
            _ => {}
        }
        let mut text = String::from(letter);
        let can_follow = |next: char| match letter {
            '=' | '!' | '<' | '>' | '+' | '%' | '@' | '&' | '|' | '^' | ':' => next == '=',
            '*' | '/' => next == '=' || next == letter,
            '-' => next == '=' || next == '>',
            _ => false,
        };
        if let Some(next) = self.rest.next_if(|next| can_follow(*next)) {
            text.push(next);
        }
        self.push(TokenKind::Operator, text);
    }

    /// A text whose quotes come next.
    fn text(&mut self, prefix: &str) {
        let (start, Some(quote)) = (self.line, self.next()) else { return };
        let mut is_triple = false;
        if self.rest.next_if_eq(&quote).is_some() {
            if self.rest.next_if_eq(&quote).is_none() {
                return self.push(TokenKind::Text, String::new());
            }
            is_triple = true;
        }
        let (mut content, mut quotes) = (String::new(), 0_usize);
        while let Some(letter) = self.rest.peek().copied() {
            if letter == '\n' && !is_triple {
                break;
            }
            self.next();
            quotes = if letter == quote { quotes.saturating_add(1) } else { 0 };
            if quotes == if is_triple { 3 } else { 1 } {
                break;
            }
            content.push(letter);
            if letter == '\\' {
                content.extend(self.next());
            }
        }
        if is_triple && content.ends_with(quote) && quotes == 3 {
            content.pop();
            content.pop();
        }
        let end = std::mem::replace(&mut self.line, start);
        let is_raw = prefix.contains('r');
        if prefix.contains('f') && self.nested < MAX_NESTED {
            self.formatted(&content, is_raw);
        } else {
            self.is_whole &= !prefix.contains('f') || !content.contains('{');
            self.push(TokenKind::Text, if is_raw { content } else { unescaped(&content) });
        }
        self.line = end;
    }

    /// Writes an f-string as code that adds its parts: `f"a{b}"` as `f( "a" + (b) )`.
    fn formatted(&mut self, content: &str, is_raw: bool) {
        self.push(TokenKind::Operator, "f(".to_owned());
        let (mut plain, mut letters) = (String::new(), content.chars().peekable());
        while let Some(letter) = letters.next() {
            match letter {
                '{' | '}' if letters.next_if_eq(&letter).is_some() => plain.push(letter),
                '{' => {
                    let code = braced(&mut letters);
                    self.part(&std::mem::take(&mut plain), is_raw);
                    let mut inner = Lexer::of(&code, self.line, self.nested.saturating_add(1));
                    inner.run();
                    let room = MAX_TOKENS.saturating_sub(self.tokens.len());
                    self.is_whole &= inner.is_whole && inner.tokens.len() <= room;
                    self.push(TokenKind::Operator, "(".to_owned());
                    let inner = inner.tokens.into_iter().filter(|one| one.kind != TokenKind::End);
                    self.tokens.extend(inner.take(room));
                    self.push(TokenKind::Operator, ")".to_owned());
                    self.push(TokenKind::Operator, "+".to_owned());
                }
                _ => plain.push(letter),
            }
        }
        self.part(&plain, is_raw);
        self.push(TokenKind::Text, String::new());
        self.push(TokenKind::Operator, ")".to_owned());
    }

    fn part(&mut self, plain: &str, is_raw: bool) {
        if !plain.is_empty() {
            self.push(TokenKind::Text, if is_raw { plain.to_owned() } else { unescaped(plain) });
            self.push(TokenKind::Operator, "+".to_owned());
        }
    }
}

/// The code up to the brace that closes it, without conversion and format.
fn braced(letters: &mut Peekable<Chars<'_>>) -> String {
    let (mut code, mut depth, mut quote, mut is_code) = (String::new(), 0_usize, None, true);
    for letter in letters.by_ref() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(letter),
            ('(' | '[' | '{', None) => depth = depth.saturating_add(1),
            ('}', None) if depth == 0 => return code,
            (')' | ']' | '}', None) => depth = depth.saturating_sub(1),
            (':' | '!', None) if depth == 0 => is_code = false,
            _ => {}
        }
        if is_code {
            code.push(letter);
        }
    }
    code
}

/// Text with its escapes replaced.
fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let (mut plain, mut letters) = (String::with_capacity(text.len()), text.chars().peekable());
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('\n') | None => {}
            Some('x') => plain.extend(number(&mut letters, 2, 16)),
            Some('u') => plain.extend(number(&mut letters, 4, 16)),
            Some('U') => plain.extend(number(&mut letters, 8, 16)),
            Some(digit @ '0'..='7') => {
                let first = digit.to_digit(8).unwrap_or_default();
                let rest = digits(&mut letters, 2, 8);
                let value =
                    rest.iter().fold(first, |sum, one| sum.saturating_mul(8).saturating_add(*one));
                plain.extend(char::from_u32(value));
            }
            Some(other) => plain.push(other),
        }
    }
    plain
}

fn digits(letters: &mut Peekable<Chars<'_>>, most: usize, radix: u32) -> Vec<u32> {
    let mut found = Vec::new();
    while found.len() < most {
        let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(radix)) else { break };
        letters.next();
        found.push(digit);
    }
    found
}

fn number(letters: &mut Peekable<Chars<'_>>, most: usize, radix: u32) -> Option<char> {
    let found = digits(letters, most, radix);
    char::from_u32(
        found.iter().fold(0_u32, |sum, one| sum.saturating_mul(radix).saturating_add(*one)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let words = tokens_of(text).0.into_iter().map(|token| match token.kind {
            TokenKind::Text => format!("'{}'", token.text),
            TokenKind::End => ";".to_owned(),
            _ => token.text,
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_are_no_code_and_texts_are_texts() {
        assert_eq!(shown("a = 1 # eval(x)\n'''eval(\n'y')'''\n"), "a = 1 ; 'eval(\n'y')' ; ;");
        assert_eq!(shown(r#"x = "\x65\166al" + r'\n'"#), r"x = 'eval' + '\n' ;");
        assert_eq!(shown("f'a{b(1)!r:>3}{{c}}'"), "f( 'a' + ( b ( 1 ) ) + '{c}' + '' ) ;");
        assert_eq!(shown("f(\n a,\n b)\nif x: pass; y"), "f ( a , b ) ; if x : pass ; y ;");
        assert_eq!(shown("a = \"never closed\nb"), "a = 'never closed' ; b ;");
        assert_eq!(shown("''''a'''"), "''a' ;");
    }

    #[test]
    fn lines_and_indents_are_kept() {
        let (tokens, _) = tokens_of("if a:\n    b = '''x\ny'''\n    c\n");
        let place = |text: &str| {
            tokens.iter().find(|one| one.text == text).map(|one| (one.line, one.indent))
        };
        assert_eq!(
            (place("b"), place("x\ny"), place("c")),
            (Some((2, 4)), Some((2, 4)), Some((4, 4)))
        );
    }
}
