//! Stand-ins for cookies that servers set in a recorded run.
//!
//! A cookie proves who asks, so its value is in no record: the program gets a stand-in, which the
//! gateway exchanges for the value in headers of later requests.
//!
//! INVARIANT(no-cookie-kept): the value of a cookie that a server sets is neither in the response
//! that the program gets nor in the record.

use parking_lot::Mutex;

/// Most cookies of a run. Further ones are dropped.
const MAX_COOKIES: usize = 1_000;

/// Begins each stand-in.
const PREFIX: &str = "recorded-cookie-";

/// The values of cookies, each at the number of its stand-in.
#[derive(Debug, Default)]
pub(super) struct CookieJar(Mutex<Vec<Vec<u8>>>);

impl CookieJar {
    /// The value of `Set-Cookie` that the program gets; none if it has no form that is known.
    pub(super) fn stand_in(&self, set: &[u8]) -> Option<Vec<u8>> {
        let equals = set.iter().position(|byte| *byte == b'=')?;
        let (name, rest) = set.split_at_checked(equals.saturating_add(1))?;
        let end = rest.iter().position(|byte| *byte == b';').unwrap_or(rest.len());
        let (value, attributes) = rest.split_at_checked(end)?;
        if name.contains(&b';') {
            return None;
        }
        let value = value.trim_ascii();
        // A cookie that is removed has no value.
        if value.is_empty() {
            return Some(set.to_vec());
        }
        let mut values = self.0.lock();
        let known = values.iter().position(|known| known == value);
        let number = match known {
            Some(number) => number,
            None if values.len() >= MAX_COOKIES => return None,
            None => {
                values.push(value.to_vec());
                values.len().saturating_sub(1)
            }
        };
        Some([name, format!("{PREFIX}{number:04}").as_bytes(), attributes].concat())
    }

    /// The value of a header with the values of cookies in place of their stand-ins.
    pub(super) fn value(&self, header: &[u8]) -> Option<Vec<u8>> {
        let mut found = None;
        for (number, value) in self.0.lock().iter().enumerate() {
            let stand_in = format!("{PREFIX}{number:04}");
            let now = found.as_deref().unwrap_or(header);
            found = exchanged(now, stand_in.as_bytes(), value).or(found);
        }
        found
    }
}

fn exchanged(text: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let mut rest = text;
    while let Some(at) = rest.windows(from.len()).position(|part| part == from) {
        let (before, behind) = rest.split_at_checked(at)?;
        let out = out.get_or_insert_default();
        out.extend_from_slice(before);
        out.extend_from_slice(to);
        rest = behind.get(from.len()..)?;
    }
    out.map(|mut out| {
        out.extend_from_slice(rest);
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cookie_kept() {
        let jar = CookieJar::default();
        let set = |text: &str| jar.stand_in(text.as_bytes()).map(|v| String::from_utf8(v).unwrap());
        assert_eq!(set("sid=s3cret; Path=/").unwrap(), "sid=recorded-cookie-0000; Path=/");
        assert_eq!(set("csrf=\"x=y\"").unwrap(), "csrf=recorded-cookie-0001");
        assert_eq!(set("again=s3cret").unwrap(), "again=recorded-cookie-0000");
        assert_eq!(set("gone=; Max-Age=0").unwrap(), "gone=; Max-Age=0");
        assert_eq!(set("no value"), None);
        assert_eq!(set("a; b=c"), None);
        let sent = b"sid=recorded-cookie-0000; csrf=recorded-cookie-0001; mine=1";
        assert_eq!(jar.value(sent).unwrap(), b"sid=s3cret; csrf=\"x=y\"; mine=1");
        assert_eq!(jar.value(b"mine=1"), None);
    }
}
