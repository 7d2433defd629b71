//! Puts values of brokered secrets into requests, in place of the placeholders that a guest has,
//! and placeholders back into responses.
//!
//! INVARIANT(named-hosts-only): a value enters a request only if every list that names hosts for
//! it, the manifest's and the operator's, grants that very request: scheme, host, port and path.
//! It enters headers, and the body if the list says so, and never the URL.

use std::sync::Arc;

use data_encoding::BASE64;

use wardian_egress::policy::target::RequestTarget;
use wardian_egress::policy::{grants, names_host};
use wardian_egress::rewrite::{RequestRewriter, ResponseFilter};
use wardian_formats::skill::manifest::secret_hosts::BrokeredHosts;
use wardian_stores::secrets::mask::Masks;
use wardian_stores::secrets::mask::stream::MaskStream;
use wardian_vocabulary::secret_text::SecretText;

/// A secret that a guest has as a placeholder.
#[derive(Debug)]
pub(crate) struct Brokered {
    pub placeholder: String,
    pub value: SecretText,
    /// Lists of hosts, all of which must grant a request.
    pub hosts: Vec<BrokeredHosts>,
}

impl Brokered {
    fn is_for(&self, target: &RequestTarget) -> bool {
        let is_granted = |hosts: &BrokeredHosts| hosts.patterns.iter().any(|p| grants(p, target));
        !self.hosts.is_empty() && self.hosts.iter().all(is_granted)
    }

    fn is_for_body(&self, target: &RequestTarget) -> bool {
        self.is_for(target) && self.hosts.iter().all(|hosts| hosts.in_body)
    }

    /// True for all requests to a host that may know the value.
    fn is_known_at(&self, target: &RequestTarget) -> bool {
        let host = &target.destination.host;
        self.hosts.iter().flat_map(|hosts| &hosts.patterns).any(|p| names_host(p, host))
    }
}

/// The brokered secrets of one run.
#[derive(Debug)]
pub(crate) struct Broker {
    secrets: Vec<Brokered>,
    /// From values to placeholders.
    back: Arc<Masks>,
}

impl Broker {
    /// A broker of `secrets`, whose values `back` replaces by their placeholders.
    pub(crate) const fn new(secrets: Vec<Brokered>, back: Arc<Masks>) -> Self {
        Self { secrets, back }
    }

    fn replaced(&self, target: &RequestTarget, text: &[u8]) -> Option<Vec<u8>> {
        let mut changed: Option<Vec<u8>> = None;
        for secret in self.secrets.iter().filter(|secret| secret.is_for(target)) {
            let now = changed.as_deref().unwrap_or(text);
            let (from, to) = (secret.placeholder.as_bytes(), secret.value.expose().as_bytes());
            changed = exchanged(now, from, to).or(changed);
        }
        changed
    }

    /// A user name and a password are encoded together.
    fn replaced_basic(&self, target: &RequestTarget, value: &[u8]) -> Option<Vec<u8>> {
        const BASIC: usize = "basic ".len();
        let (scheme, encoded) = value.split_at_checked(BASIC)?;
        if !scheme.eq_ignore_ascii_case(b"basic ") {
            return None;
        }
        let text = BASE64.decode(encoded.trim_ascii()).ok()?;
        let text = self.replaced(target, &text)?;
        Some([scheme, BASE64.encode(&text).as_bytes()].concat())
    }
}

impl RequestRewriter for Broker {
    fn rewrite_header(&self, target: &RequestTarget, name: &str, value: &[u8]) -> Option<Vec<u8>> {
        let basic = (name == "authorization").then(|| self.replaced_basic(target, value)).flatten();
        basic.or_else(|| self.replaced(target, value))
    }

    fn rewrites_body(&self, target: &RequestTarget) -> bool {
        self.secrets.iter().any(|secret| secret.is_for_body(target))
    }

    fn response_filter(&self, target: &RequestTarget) -> Option<Box<dyn ResponseFilter>> {
        let is_known = self.secrets.iter().any(|secret| secret.is_known_at(target));
        is_known.then(|| {
            let (back, body) = (Arc::clone(&self.back), MaskStream::new(Arc::clone(&self.back)));
            Box::new(Hiding { back, body }) as Box<dyn ResponseFilter>
        })
    }

    /// Placeholders are replaced in the forms of bodies, too: in JSON, in a form, in Base64.
    fn rewrite_body(&self, target: &RequestTarget, mut body: Vec<u8>) -> Vec<u8> {
        let secrets = self.secrets.iter().filter(|secret| secret.is_for_body(target));
        let pairs = secrets.map(|secret| (secret.placeholder.as_str(), secret.value.expose()));
        if let Ok(masks) = Masks::exchanging(pairs) {
            masks.cover(&mut body);
        }
        body
    }
}

/// Puts placeholders in place of values into one response.
#[derive(Debug)]
struct Hiding {
    back: Arc<Masks>,
    body: MaskStream,
}

impl ResponseFilter for Hiding {
    fn header(&self, value: &[u8]) -> Option<Vec<u8>> {
        if !self.back.is_in(value) {
            return None;
        }
        let mut value = value.to_vec();
        self.back.cover(&mut value);
        Some(value)
    }

    fn body(&mut self, piece: &[u8]) -> Vec<u8> {
        self.body.push(piece)
    }

    fn end(&mut self) -> Vec<u8> {
        self.body.finish()
    }
}

/// `text` with all `from` exchanged for `to`, if there is one.
fn exchanged(text: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let mut rest = text;
    while let Some(at) = rest.windows(from.len().max(1)).position(|part| part == from) {
        let out = out.get_or_insert_with(|| Vec::with_capacity(text.len()));
        out.extend_from_slice(rest.get(..at).unwrap_or_default());
        out.extend_from_slice(to);
        rest = rest.get(at.saturating_add(from.len())..).unwrap_or_default();
    }
    out.map(|mut out| {
        out.extend_from_slice(rest);
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::skill::manifest::url_pattern::UrlPattern;

    const VALUE: &str = "sk_live_51HxAbCdEfGhIjKl";
    const PLACEHOLDER: &str = "sk_live_99ZzQwErTyUiOpAs";

    fn hosts(patterns: &[&str], in_body: bool) -> BrokeredHosts {
        let patterns = patterns.iter().map(|text| UrlPattern::parse(text).unwrap()).collect();
        BrokeredHosts { patterns, in_body }
    }

    fn broker(lists: Vec<BrokeredHosts>) -> Broker {
        let secret = Brokered {
            placeholder: PLACEHOLDER.to_owned(),
            value: SecretText::from(VALUE.to_owned()),
            hosts: lists,
        };
        let back = Masks::exchanging([(VALUE, PLACEHOLDER)]).unwrap();
        Broker::new(vec![secret], Arc::new(back))
    }

    fn header(broker: &Broker, url: &str, value: &str) -> Option<String> {
        let target = RequestTarget::parse(url).unwrap();
        let changed = broker.rewrite_header(&target, "authorization", value.as_bytes());
        changed.map(|value| String::from_utf8(value).unwrap())
    }

    #[test]
    fn named_hosts_only_get_the_value() {
        let broker = broker(vec![hosts(&["https://api.stripe.com/v1/"], false)]);
        let sent = format!("Bearer {PLACEHOLDER}");
        for url in ["https://api.stripe.com/v1/charges", "https://api.stripe.com/v1/a?b=c"] {
            assert_eq!(header(&broker, url, &sent).unwrap(), format!("Bearer {VALUE}"), "{url}");
        }
        for url in [
            "http://api.stripe.com/v1/charges",
            "https://api.stripe.com:8443/v1/charges",
            "https://api.stripe.com/v2/charges",
            "https://api.stripe.com/v1/../v2",
            "https://api.stripe.com.evil.example/v1/charges",
            "https://x.api.stripe.com/v1/charges",
        ] {
            assert_eq!(header(&broker, url, &sent), None, "{url}");
        }
        assert_eq!(header(&broker, "https://api.stripe.com/v1/", "Bearer other"), None);
    }

    #[test]
    fn what_the_operator_says_narrows_what_the_manifest_says() {
        let (ours, theirs) =
            (hosts(&["https://api.stripe.com"], true), hosts(&["https://*.example.org"], true));
        let url = "https://api.stripe.com/";
        assert!(header(&broker(vec![ours.clone()]), url, PLACEHOLDER).is_some());
        assert_eq!(header(&broker(vec![ours.clone(), theirs]), url, PLACEHOLDER), None);
        assert_eq!(header(&broker(Vec::new()), url, PLACEHOLDER), None);
        let only_headers = hosts(&["https://api.stripe.com"], false);
        let target = RequestTarget::parse(url).unwrap();
        assert!(broker(vec![ours.clone()]).rewrites_body(&target));
        assert!(!broker(vec![ours, only_headers]).rewrites_body(&target));
    }

    #[test]
    fn basic_authorization_is_encoded_anew() {
        let broker = broker(vec![hosts(&["https://api.stripe.com"], false)]);
        for (user, password) in [(PLACEHOLDER, ""), ("me", PLACEHOLDER), (PLACEHOLDER, PLACEHOLDER)]
        {
            let sent = format!("Basic {}", BASE64.encode(format!("{user}:{password}").as_bytes()));
            let got = header(&broker, "https://api.stripe.com/", &sent).unwrap();
            assert_eq!(got.len(), sent.len());
            let text = BASE64.decode(got.strip_prefix("Basic ").unwrap().as_bytes()).unwrap();
            let expected = format!("{user}:{password}").replace(PLACEHOLDER, VALUE);
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
        for odd in ["Basic", "basic !!!", "Basic \u{e9}"] {
            assert_eq!(header(&broker, "https://api.stripe.com/", odd), None);
        }
    }

    #[test]
    fn bodies_get_the_value_in_the_form_of_the_placeholder() {
        let broker = broker(vec![hosts(&["https://api.stripe.com"], true)]);
        let target = RequestTarget::parse("https://api.stripe.com/").unwrap();
        let body = format!("{{\"key\":\"{PLACEHOLDER}\"}}");
        let sent = broker.rewrite_body(&target, body.into_bytes());
        assert_eq!(sent, format!("{{\"key\":\"{VALUE}\"}}").into_bytes());
    }

    #[test]
    fn a_response_that_echoes_the_value_shows_the_placeholder() {
        let broker = broker(vec![hosts(&["https://api.stripe.com/v1/"], false)]);
        let other_path = RequestTarget::parse("https://api.stripe.com/account").unwrap();
        let mut filter = broker.response_filter(&other_path).unwrap();
        let got = filter.header(format!("key={VALUE}").as_bytes()).unwrap();
        assert_eq!(got, format!("key={PLACEHOLDER}").into_bytes());
        assert_eq!(filter.header(b"text/plain"), None);
        let (first, second) = VALUE.split_at(11);
        let mut body = filter.body(format!("a {first}").as_bytes());
        assert_eq!(body, b"a ");
        body.extend(filter.body(second.as_bytes()));
        body.extend(filter.end());
        assert_eq!(body, format!("a {PLACEHOLDER}").into_bytes());
        let elsewhere = RequestTarget::parse("https://example.org/").unwrap();
        assert!(broker.response_filter(&elsewhere).is_none());
    }
}
