//! The log line of a panic.

use std::any::Any;
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;

/// Writes the location of a panic, and its text only if it is a constant: a formatted text may
/// quote a guest's data, which must not reach a log.
pub(super) fn report_panic(panic: &PanicHookInfo<'_>) {
    let text = fixed_text(panic.payload());
    let line = match panic.location() {
        Some(place) => format!("panic at {place}: {text}\n"),
        None => format!("panic: {text}\n"),
    };
    // If stderr is closed, the message is lost.
    io::stderr().write_all(line.as_bytes()).ok();
}

fn fixed_text(payload: &(dyn Any + Send)) -> &'static str {
    payload.downcast_ref::<&'static str>().copied().unwrap_or("(text withheld)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_panic_reaches_the_log_only_if_it_is_fixed() {
        let texts: [(Box<dyn Any + Send>, &str); 2] = [
            (Box::new("fixed"), "fixed"),
            (Box::new(String::from("byte 3 is within hunter2")), "(text withheld)"),
        ];
        for (payload, expected) in texts {
            assert_eq!(fixed_text(&*payload), expected);
        }
    }
}
