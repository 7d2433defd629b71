//! The events of the audit log, and their lines.

use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;

use wardian_vocabulary::clock::calendar::rfc3339;

/// Longest text of a member, in bytes. Tenants, keys, scopes and hosts are shorter.
const MAX_TEXT: usize = 300;

/// The sorts of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditKind {
    /// A key was used; written when it is first used in an hour.
    KeyUsed,
    /// A token of an identity provider was used; written when it is first used in an hour.
    TokenUsed,
    /// A command made a key.
    KeyCreated,
    /// A command revoked a key.
    KeyRevoked,
    /// A request had no valid credential.
    Unauthorized,
    /// A caller lacks a scope.
    Forbidden,
    /// A tenant has reached one of its limits.
    QuotaReached,
    /// A caller published a version of a skill.
    SkillPublished,
    /// A caller removed a version of a skill.
    SkillUnpublished,
    /// A run asked for a host that it may not reach.
    HostDenied,
    /// A caller made a session.
    SessionCreated,
    /// A caller made a session of a checkpoint of another one.
    SessionForked,
    /// A caller let a session go back to a checkpoint.
    SessionRestored,
    /// A caller closed a session.
    SessionClosed,
    /// The time of a session was over.
    SessionExpired,
    /// A call found that the state of a session cannot be used.
    SessionDamaged,
    /// A program has called a tool of its caller.
    ToolCalled,
    /// A caller has approved a call of a tool, or has not.
    ToolDecided,
}

impl AuditKind {
    /// The time in which an event is not written again.
    pub(super) const fn quiet(self) -> Duration {
        match self {
            Self::KeyUsed | Self::TokenUsed => Duration::from_hours(1),
            // Each one counts.
            Self::SkillPublished
            | Self::SkillUnpublished
            | Self::ToolCalled
            | Self::ToolDecided => Duration::ZERO,
            _ => Duration::from_secs(60),
        }
    }

    /// True for events of sessions and of their programs, of which a busy client makes many.
    pub(super) const fn is_of_sessions(self) -> bool {
        matches!(
            self,
            Self::SessionCreated
                | Self::SessionForked
                | Self::SessionRestored
                | Self::SessionClosed
                | Self::SessionExpired
                | Self::SessionDamaged
                | Self::ToolCalled
                | Self::ToolDecided
        )
    }
}

/// An event. Members that do not apply are left out of its line.
#[derive(Debug, Clone, Copy)]
pub struct AuditEvent<'a> {
    /// Its sort.
    pub kind: AuditKind,
    /// The tenant.
    pub tenant: Option<&'a str>,
    /// The prefix of the key, or `token:` and the subject of the token.
    pub key: Option<&'a str>,
    /// The address of the client.
    pub address: Option<IpAddr>,
    /// The request.
    pub request_id: Option<&'a str>,
    /// The run.
    pub run_id: Option<&'a str>,
    /// The scope, the limit, the host or the session that the event is about.
    pub about: Option<&'a str>,
    /// The number of events that the line stands for, besides the one that was written before.
    pub repeats: Option<u64>,
}

/// The line of an event.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    event: AuditKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<u64>,
}

impl<'a> AuditEvent<'a> {
    /// An event of this sort, about nothing yet.
    #[must_use]
    pub const fn new(kind: AuditKind) -> Self {
        Self {
            kind,
            tenant: None,
            key: None,
            address: None,
            request_id: None,
            run_id: None,
            about: None,
            repeats: None,
        }
    }

    /// The event, about this.
    #[must_use]
    pub const fn about(self, about: &'a str) -> Self {
        Self { about: Some(about), ..self }
    }

    /// The event, of this tenant.
    #[must_use]
    pub const fn of_tenant(self, tenant: &'a str) -> Self {
        Self { tenant: Some(tenant), ..self }
    }

    /// Feeds what makes two events the same into `state`: all but the ids of requests and runs.
    pub(super) fn identify(&self, state: &mut impl Hasher) {
        (self.kind, self.tenant, self.key, self.address, self.about).hash(state);
    }

    /// The line at this time since the Unix epoch, its end included.
    ///
    /// # Errors
    ///
    /// None for these types of members.
    pub(super) fn line(&self, now: Duration) -> Result<String, serde_json::Error> {
        let line = Line {
            time: rfc3339(now),
            event: self.kind,
            tenant: self.tenant.map(head),
            key: self.key.map(head),
            address: self.address,
            request_id: self.request_id.map(head),
            run_id: self.run_id.map(head),
            about: self.about.map(head),
            repeats: self.repeats,
        };
        let mut line = visible(&serde_json::to_string(&line)?);
        line.push('\n');
        Ok(line)
    }
}

/// JSON with escapes in place of letters that are not seen as what they are: controls, which JSON
/// allows above U+007F, line separators, letters without width, and those that turn the direction of
/// text, so that a line reads as another one.
fn visible(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        let is_plain = matches!(letter, '"' | '\'' | '\\') || letter.escape_debug().len() == 1;
        let mut units = [0; 2];
        match is_plain {
            false => letter
                .encode_utf16(&mut units)
                .iter()
                .for_each(|unit| text.push_str(&format!("\\u{unit:04x}"))),
            true => text.push(letter),
        }
    }
    text
}

/// The beginning of a text.
fn head(text: &str) -> &str {
    let mut end = MAX_TEXT.min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_is_bounded_in_the_length_of_a_line() {
        let long = "\u{1}\u{202e}é".repeat(10_000);
        let event = AuditEvent {
            tenant: Some(&long),
            key: Some(&long),
            address: Some([127, 0, 0, 1].into()),
            request_id: Some(&long),
            run_id: Some(&long),
            repeats: Some(u64::MAX),
            ..AuditEvent::new(AuditKind::HostDenied).about(&long)
        };
        let line = event.line(Duration::MAX).unwrap();
        assert!(line.len() < 10_000 && line.ends_with("}\n"), "{}", line.len());
        assert_eq!(line.lines().count(), 1);
    }

    #[test]
    fn a_line_shows_each_letter_as_what_it_is() {
        let subject = "a\u{202e}nimda\u{2066}\u{200b}\u{85}\u{2028}\u{e0041}\u{feff}é文\u{1f600}\u{1}\"\u{7f}";
        let line =
            AuditEvent::new(AuditKind::TokenUsed).about(subject).line(Duration::ZERO).unwrap();
        let expected = "a\\u202enimda\\u2066\\u200b\\u0085\\u2028\\udb40\\udc41\\ufeffé文\u{1f600}\\u0001\\\"\\u007f";
        assert!(line.contains(expected), "{line}");
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["about"], subject);
    }

    #[test]
    fn a_line_has_what_applies() {
        let event =
            AuditEvent::new(AuditKind::QuotaReached).of_tenant("acme").about("rate_limited");
        let line = event.line(Duration::from_millis(1_790_000_000_042)).unwrap();
        assert_eq!(
            line,
            "{\"time\":\"2026-09-21T14:13:20.042Z\",\"event\":\"quota_reached\",\
             \"tenant\":\"acme\",\"about\":\"rate_limited\"}\n"
        );
    }
}
