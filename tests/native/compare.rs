//! Equality of answers: exact for integers and text, nearly exact for floating-point numbers.

use serde_json::Value;

/// Largest relative difference of two floating-point numbers that count as the same.
const TOLERANCE: f64 = 1e-9;

/// Numbers this close to zero count as zero: what is left of a difference of large numbers.
const NOISE: f64 = 1e-12;

/// An error that a program has to end with: its type, or nothing for any, and a text that has to be in
/// the message. `completed` stands for a program that goes on, as after a shell that finds no
/// command; the text is then in its log.
#[derive(Debug)]
pub(crate) struct Refusal {
    classes: Vec<String>,
    text: String,
}

impl Refusal {
    /// Reads `TYPE|TYPE: TEXT`.
    pub(crate) fn parse(line: &str) -> Self {
        let (classes, text) = line.split_once(':').unwrap();
        let classes = classes.split('|').map(str::trim).filter(|class| !class.is_empty());
        Self { classes: classes.map(str::to_owned).collect(), text: text.trim().to_lowercase() }
    }

    /// Says how `result` differs from this refusal.
    pub(crate) fn compare(&self, result: &Value) -> Result<(), String> {
        if self.classes.iter().any(|class| class == "completed") {
            let log = result["logs_preview"].as_str().unwrap().to_lowercase();
            let is_told = result["status"] == "completed" && log.contains(&self.text);
            return if is_told { Ok(()) } else { Err(format!("the log has no word of it: {log}")) };
        }
        if result["status"] != "failed" {
            return Err(format!("was not refused: {:.300}", result["output"]));
        }
        let (class, message) = (
            result["error"]["type"].as_str().unwrap(),
            result["error"]["message"].as_str().unwrap(),
        );
        if !self.classes.is_empty() && !self.classes.iter().any(|known| known == class) {
            return Err(format!("refused with {class}, not {:?}: {message}", self.classes));
        }
        if ["SandboxCrash", "Timeout", "StackOverflow"].contains(&class) {
            return Err(format!("is no refusal: {class}: {message}"));
        }
        if !message.to_lowercase().contains(&self.text) {
            return Err(format!("does not say `{}`: {class}: {message}", self.text));
        }
        Ok(())
    }
}

/// Compares two JSON values.
pub(crate) fn same_value(native: &Value, here: &Value) -> Result<(), String> {
    let same = match (native, here) {
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                return Err(format!("{native:.300} natively, {here:.300} here"));
            }
            return a.iter().zip(b).try_for_each(|(a, b)| same_value(a, b));
        }
        (Value::Object(a), Value::Object(b)) => {
            if a.len() != b.len() || a.keys().ne(b.keys()) {
                return Err(format!("{native:.300} natively, {here:.300} here"));
            }
            return a.values().zip(b.values()).try_for_each(|(a, b)| same_value(a, b));
        }
        (Value::Number(a), Value::Number(b)) => {
            a.is_f64() == b.is_f64()
                && (a == b || a.is_f64() && close(a.as_f64().unwrap(), b.as_f64().unwrap()))
        }
        (Value::String(a), Value::String(b)) => return same_text(a, b),
        _ => native == here,
    };
    if same { Ok(()) } else { Err(format!("{native:.300} natively, {here:.300} here")) }
}

/// Compares two texts; floating-point numbers in them may differ as numbers may.
pub(crate) fn same_text(native: &str, here: &str) -> Result<(), String> {
    if native == here {
        return Ok(());
    }
    let (a, b) = (pieces(native), pieces(here));
    let same = a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(x), Ok(y)) if a.contains(['.', 'e']) && b.contains(['.', 'e']) => close(x, y),
            _ => a == b,
        });
    if same { Ok(()) } else { Err(format!("{native:?} natively, {here:?} here")) }
}

/// The text cut into numbers and what is between them.
fn pieces(text: &str) -> Vec<&str> {
    let is_numeric = |c: char| c.is_ascii_digit() || c == '.' || c == 'e';
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let numeric = is_numeric(first);
        let end = rest.find(|c| is_numeric(c) != numeric).unwrap_or(rest.len());
        let (piece, others) = rest.split_at(end);
        pieces.push(piece);
        rest = others;
    }
    pieces
}

fn close(a: f64, b: f64) -> bool {
    a == b
        || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
        || a.abs() < NOISE && b.abs() < NOISE
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_and_text_are_compared_exactly_and_floats_nearly() {
        assert!(same_value(&json!([1, "a", 0.1]), &json!([1, "a", 0.100_000_000_000_1])).is_ok());
        for (native, here) in [
            (json!(1), json!(1.0)),
            (json!(4_294_967_296_u64), json!(0)),
            (json!(0.1), json!(0.100_001)),
            (json!("a"), json!("b")),
            (json!([1]), json!([1, 2])),
            (json!({"a": 1}), json!({"b": 1})),
            (json!("sum 10000000000"), json!("sum 10000000001")),
            (json!(null), json!(false)),
        ] {
            assert!(same_value(&native, &here).is_err(), "{native} was taken for {here}");
        }
        assert!(same_text("mean 0.30000000000000004 ok", "mean 0.3 ok").is_ok());
    }

    #[test]
    fn a_refusal_is_an_error_of_its_type_that_says_why() {
        let refusal = Refusal::parse(" OSError|RuntimeError: Network");
        let failed = |class, message| json!({"status": "failed", "error": {"type": class, "message": message}});
        assert!(refusal.compare(&failed("OSError", "there is no network")).is_ok());
        assert!(refusal.compare(&failed("ValueError", "there is no network")).is_err());
        assert!(refusal.compare(&failed("OSError", "failed")).is_err());
        assert!(refusal.compare(&json!({"status": "completed", "output": null})).is_err());
        let any = Refusal::parse(" : ");
        assert!(any.compare(&failed("SandboxCrash", "")).is_err());
    }
}
