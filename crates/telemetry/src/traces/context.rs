//! The place of a request in a trace, as W3C Trace Context (level 2) writes it into headers.

use std::fmt;
use std::str;

use data_encoding::HEXLOWER;

/// Length of the fields that all versions of `traceparent` begin with.
const FIELDS: usize = 55;

/// The version that no header has.
const FORBIDDEN: u8 = 0xff;

/// The flag of a trace that is recorded. Other flags are ignored.
const SAMPLED: u8 = 1;

/// Maximum number of members of `tracestate`; the specification refuses more.
const MAX_MEMBERS: usize = 32;

/// Longest `tracestate` that is kept: the length that the specification asks for.
const MAX_STATE: usize = 512;

/// Longest key and longest value of a member.
const MAX_PART: usize = 256;

/// The id of a trace: 16 bytes, not all of them zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId([u8; 16]);

/// The id of a span: 8 bytes, not all of them zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanId([u8; 8]);

impl TraceId {
    /// The id of these bytes; `None` if all are zero.
    pub(super) fn of(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0.to_vec()
    }
}

impl SpanId {
    /// The id of these bytes; `None` if all are zero.
    pub(super) fn of(bytes: [u8; 8]) -> Option<Self> {
        (bytes != [0; 8]).then_some(Self(bytes))
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0.to_vec()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

/// The span of a client that a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteParent {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
    /// True if the client records the trace.
    pub(super) is_sampled: bool,
    /// The header `tracestate`, without blanks; empty if there is none or it is malformed.
    pub(super) state: String,
}

impl RemoteParent {
    /// Reads the values of all headers `traceparent` and `tracestate` of a request. Returns `None` if
    /// there is no `traceparent`, more than one, or a malformed one: it is then ignored, and
    /// `tracestate` with it.
    pub fn read<'a>(
        parents: impl IntoIterator<Item = &'a [u8]>,
        states: impl IntoIterator<Item = &'a [u8]>,
    ) -> Option<Self> {
        let mut parents = parents.into_iter();
        let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
        let (trace, span, is_sampled) = parse_parent(parent)?;
        Some(Self { trace, span, is_sampled, state: parse_state(states).unwrap_or_default() })
    }
}

/// Parses `traceparent`. A later version may have more behind a further dash.
fn parse_parent(header: &[u8]) -> Option<(TraceId, SpanId, bool)> {
    let header = header.trim_ascii();
    let [version] = hexadecimal(header.get(..2)?)?;
    let is_complete = match (version, header.get(FIELDS)) {
        (FORBIDDEN, _) => false,
        (_, None) => true,
        (0, Some(_)) => false,
        (_, Some(next)) => *next == b'-',
    };
    let has_dashes = [2, 35, 52].iter().all(|at| header.get(*at) == Some(&b'-'));
    if !is_complete || !has_dashes {
        return None;
    }
    let trace = TraceId::of(hexadecimal(header.get(3..35)?)?)?;
    let span = SpanId::of(hexadecimal(header.get(36..52)?)?)?;
    let [flags] = hexadecimal(header.get(53..FIELDS)?)?;
    Some((trace, span, flags & SAMPLED != 0))
}

/// The bytes of lowercase hexadecimal digits.
fn hexadecimal<const LENGTH: usize>(digits: &[u8]) -> Option<[u8; LENGTH]> {
    HEXLOWER.decode(digits).ok()?.try_into().ok()
}

/// Parses `tracestate`, whose headers are one list. A malformed member discards all of them.
fn parse_state<H: AsRef<[u8]>>(headers: impl IntoIterator<Item = H>) -> Option<String> {
    let (mut state, mut count) = (String::new(), 0_usize);
    for header in headers {
        for member in str::from_utf8(header.as_ref()).ok()?.split(',') {
            let member = member.trim_matches([' ', '\t']);
            if member.is_empty() {
                continue;
            }
            count = count.saturating_add(1);
            let length = state.len().saturating_add(member.len());
            if count > MAX_MEMBERS || length >= MAX_STATE || !is_member(member) {
                return None;
            }
            if !state.is_empty() {
                state.push(',');
            }
            state.push_str(member);
        }
    }
    Some(state)
}

/// True for `key=value` within the characters of the specification.
fn is_member(member: &str) -> bool {
    let Some((key, value)) = member.split_once('=') else { return false };
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_key = key.len() <= MAX_PART
        && key.bytes().next().is_some_and(is_plain)
        && key.bytes().all(|byte| is_plain(byte) || b"_-*/@".contains(&byte));
    let is_value = (1..=MAX_PART).contains(&value.len())
        && value.bytes().all(|byte| (0x20..=0x7e).contains(&byte) && byte != b'=');
    is_key && is_value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn read(parents: &[&str], states: &[&str]) -> Option<RemoteParent> {
        RemoteParent::read(
            parents.iter().map(|text| text.as_bytes()),
            states.iter().map(|text| text.as_bytes()),
        )
    }

    #[test]
    fn a_parent_is_read_as_the_specification_writes_it() {
        let found = read(&[PARENT], &["a=1 , b@c=2", "", "\td-e=f g"]).unwrap();
        assert_eq!(found.trace.to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(found.span.to_string(), "b7ad6b7169203331");
        assert!(found.is_sampled);
        assert_eq!(found.state, "a=1,b@c=2,d-e=f g");
        for (flags, is_sampled) in [("00", false), ("02", false), ("03", true), ("ff", true)] {
            let header = PARENT.replace("-01", &format!("-{flags}"));
            assert_eq!(read(&[&header], &[]).unwrap().is_sampled, is_sampled, "{flags}");
        }
        for later in ["cc", "01", "fe"] {
            for rest in ["", "-", "-what the future brings"] {
                let header = format!("{}{rest}", PARENT.replacen("00", later, 1));
                assert!(read(&[&header], &[]).unwrap().is_sampled, "{header}");
            }
        }
    }

    #[test]
    fn a_malformed_parent_is_no_parent() {
        let zeros = "0".repeat(32);
        for header in [
            "",
            "00",
            PARENT.strip_suffix('1').unwrap(),
            &format!("{PARENT}-"),
            &format!("{PARENT}-00"),
            &format!("{PARENT}0"),
            &PARENT.to_uppercase(),
            &PARENT.replace("-01", "-0A"),
            &PARENT.replace("00-", "ff-"),
            &PARENT.replace("00-", "0-0"),
            &PARENT.replace("00-", ".0-"),
            &PARENT.replace('-', "_"),
            &PARENT.replace("0af7651916cd43dd8448eb211c80319c", &zeros),
            &PARENT.replace("b7ad6b7169203331", &"0".repeat(16)),
            &format!("{}x", PARENT.replacen("00", "cc", 1)),
            &PARENT.replace("0af7", "0äf"),
        ] {
            assert_eq!(read(&[header], &["a=1"]), None, "{header}");
        }
        assert_eq!(read(&[PARENT, PARENT], &[]), None, "which of two is meant?");
        assert_eq!(read(&[], &["a=1"]), None);
    }

    #[test]
    fn a_malformed_state_is_left_out_and_its_parent_stays() {
        let many = (0..33).map(|at| format!("k{at}=v")).collect::<Vec<_>>().join(",");
        let long = format!("a={}", "v".repeat(257));
        let longest = format!("a={}", "v".repeat(256));
        let together = [longest.clone(), longest.replace("a=", "b=")].join(",");
        for state in
            ["a", "=1", "A=1", "a=", "a=b=c", "a=ä", "-a=1", "a b=1", &many, &long, &together]
        {
            assert_eq!(read(&[PARENT], &["x=y", state]).unwrap().state, "", "{state}");
        }
        let most = (0..32).map(|at| format!("k{at}=v")).collect::<Vec<_>>().join(",");
        for state in [most.as_str(), &longest, "0=1", "a*/_=~ !", "a=1,a=2"] {
            assert_eq!(read(&[PARENT], &[state]).unwrap().state, state);
        }
    }

    proptest! {
        /// The fields of a header that is read are those that it was written with.
        #[test]
        fn parents_survive_their_text(trace: [u8; 16], span: [u8; 8], flags: u8) {
            let (trace, span) = (TraceId::of(trace), SpanId::of(span));
            prop_assume!(trace.is_some() && span.is_some());
            let (trace, span) = (trace.unwrap(), span.unwrap());
            let header = format!("00-{trace}-{span}-{flags:02x}");
            let found = read(&[&header], &[]).unwrap();
            prop_assert_eq!((found.trace, found.span), (trace, span));
            prop_assert_eq!(found.is_sampled, flags % 2 == 1);
        }

        /// A header that one changed byte makes another is either read as what it says or ignored.
        #[test]
        fn changed_parents_are_read_exactly_or_not_at_all(at in 0..PARENT.len(), byte: u8) {
            let mut header = PARENT.as_bytes().to_vec();
            header[at] = byte;
            let found = RemoteParent::read([header.as_slice()], []);
            let is_digit = byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            let is_dash = [2, 35, 52].contains(&at);
            let is_expected = if is_dash { byte == b'-' } else { is_digit };
            prop_assert_eq!(found.is_some(), is_expected);
            if let Some(found) = found {
                let text = format!("{}-{}", found.trace, found.span);
                prop_assert_eq!(text.as_bytes(), &header[3..52]);
            }
        }

        /// Any bytes at all: no panic, and nothing but the kept characters comes through.
        #[test]
        fn states_are_bounded_and_printable(
            states in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..8),
            texts in prop::collection::vec("[a-z0-9@_]{0,9}=?[ -~]{0,40}(,|)[a-z]{0,3}=?[ -~]{0,9}", 0..8),
        ) {
            let texts: Vec<_> = texts.iter().map(String::as_bytes).collect();
            let all: Vec<_> = states.iter().map(Vec::as_slice).chain(texts.clone()).collect();
            for states in [all, texts] {
                let found = RemoteParent::read([PARENT.as_bytes()], states).unwrap().state;
                prop_assert!(found.len() <= MAX_STATE);
                prop_assert!(found.bytes().all(|byte| (0x20..=0x7e).contains(&byte)));
                prop_assert!(found.is_empty() || found.split(',').all(is_member));
            }
        }
    }
}
