//! Other programs that this one starts.

use std::env;
use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};

/// The end of a program.
#[derive(Debug)]
pub struct ExitReport {
    /// How it ended.
    pub status: ExitStatus,
    /// The end of its standard error, as printable text.
    pub said: String,
}

/// Runs a program without input to its end, and keeps the last `transcript` bytes of its standard
/// error. It does not get the variables of this program.
///
/// # Errors
///
/// The program cannot be started.
pub fn run_to_end(mut command: Command, transcript: usize) -> io::Result<ExitReport> {
    hide_own_variables(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let said = child.stderr.take().map(|stderr| last_words(stderr, transcript));
    Ok(ExitReport { status: child.wait()?, said: said.unwrap_or_default() })
}

/// Takes the variables of this program from the environment that `command` inherits.
///
/// Other programs do not need its settings, and the values of secrets (`WARDIAN_SECRET_*`) must not reach them: a
/// package manager runs code of packages.
pub fn hide_own_variables(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"WARDIAN_") {
            command.env_remove(name);
        }
    }
}

/// Reads to the end and keeps the last `most` bytes as printable text.
fn last_words(mut from: impl Read, most: usize) -> String {
    let mut kept = Vec::new();
    let mut is_cut = false;
    let mut chunk = [0; 1_024];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => kept.extend_from_slice(chunk.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The exit status shows if the program failed.
            Err(_) => break,
        }
        if let Some(surplus) = kept.len().checked_sub(most).filter(|surplus| *surplus > 0) {
            kept.drain(..surplus);
            is_cut = true;
        }
    }
    if is_cut {
        // What is left of a URL does not show where its password ends.
        let line = kept.iter().position(|byte| *byte == b'\n');
        let end = line.or_else(|| kept.iter().position(u8::is_ascii_whitespace));
        kept.drain(..end.unwrap_or(kept.len()));
    }
    let is_printable = |letter: char| letter == '\n' || !letter.is_control();
    String::from_utf8_lossy(&kept).trim().replace(|letter| !is_printable(letter), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_what_a_program_says_is_kept() {
        let long = [vec![b'a'; 100_000], b" the \x1b cause".to_vec()].concat();
        assert_eq!(last_words(long.as_slice(), 4_096), "the   cause");
        let lines = [vec![b'a'; 4_000], b"://user:pass word@host\n".repeat(10)].concat();
        for most in 50..100 {
            let kept = last_words(lines.as_slice(), most);
            assert!(kept.len() < most && kept.starts_with("://user:pass word@host"), "{kept}");
        }
        assert_eq!(last_words([b'a'; 10].as_slice(), 5), "");
        assert_eq!(last_words([b'a'; 10].as_slice(), 10), "aaaaaaaaaa");
    }
}
