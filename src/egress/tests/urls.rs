//! Which URLs a pattern grants: the table of spellings that parsers read differently.

use std::sync::Arc;

use proptest::prelude::*;

use crate::egress::error::errno;
use crate::egress::policy::rules::NetworkRules;
use crate::egress::policy::target::{HostName, RequestPath, RequestTarget};
use crate::egress::policy::{RunPolicy, grants, names_host};
use crate::skill::manifest::url_pattern::UrlPattern;

fn rules(patterns: &[&str], denied: &[&str]) -> NetworkRules {
    let parse = |texts: &[&str]| -> Vec<UrlPattern> {
        texts.iter().map(|text| UrlPattern::parse(text).unwrap()).collect()
    };
    NetworkRules::new(RunPolicy::of_manifest(parse(patterns)), Arc::from(parse(denied)), true)
}

#[rustfmt::skip]
const REFUSED: &[&str] = &[
    "https://evil-example.com/", "https://example.com.evil.com/", "https://evil.com#@api.example.com/",
    "https://evil.com?@api.example.com/", "https://api.example.com@evil.com/", "https://user@api.example.com/",
    "https://user:pw@api.example.com/", "https://api.example.com\\@evil.com/", "https://evil.com\\@api.example.com/",
    "https://api.example.com\\.evil.com/", "https://api.exa\tmple.com/", "https://api.example.com\n.evil.com/",
    "https://api.example.com\r\n/", "https:api.example.com/", "https:/api.example.com/", "https:///api.example.com/",
    "//api.example.com/", "https://api.example.com%2eevil.com/", "https://evil.com\0.example.com/",
    "https://evil.com%00.example.com/", "https://ａｐｉ.example.com/", "https://api.exam\u{ad}ple.com/",
    "https://api.exampⅼe.com/", "https://API.Example.COM./", "https://api.example.com./",
    "https://api.example.com:8443/", "https://api.example.com:0443/x:", "https://api.example.com:/",
    "https://api.example.com:+443/", "https://api.example.com:99999/",
    "http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://017700000001/", "http://0/",
    "http://①②⑦.⓪.⓪.①/", "http://127.0.0.1./", "http://0x7f.0.0.0x1/", "https://127.0.0.1/", "https://[::1]/",
    "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://[::ffff:a9fe:a9fe]/",
    "https://169.254.169.254/", "https://[::1].example.com/",
    "https://a..example.com/", "https://.example.com/", "https://*.example.com/", "https://-.example.com/",
    "https://a_b.example.com/", "file:///etc/passwd", "data:text/plain,x", "gopher://api.example.com/",
    "ftp://api.example.com/", "ws://api.example.com/", "wss://api.example.com/", "http://api.example.com/",
    "https://example.com/", "https://xexample.com/", "https://localhost/", "https://com/", "https://", "", " ",
    " https://api.example.com/", "https://api.example.com /", "https://api.example.com/ x",
    "https://api.example.com/\\x", "https://api.example.com/#x", "https://api.example.com/\u{e9}",
];

#[test]
fn every_row_of_the_table_of_urls_is_refused() {
    for patterns in [&["https://api.example.com/*"][..], &["https://*.example.com/*"]] {
        let rules = rules(patterns, &[]);
        for url in REFUSED {
            let refused = rules.check_url(url).map(|target| format!("{target:?}"));
            assert_eq!(refused.map_err(|error| error.errno()), Err(errno::EACCES), "{url:?}");
        }
    }
}

#[test]
fn plain_urls_of_granted_hosts_pass() {
    let one = rules(&["https://api.example.com"], &[]);
    for url in [
        "https://api.example.com",
        "https://api.example.com/",
        "https://api.example.com:443/a/../b;c//%2e?x=//;",
        "HTTPS://API.Example.Com/",
        "https://api.example.com?x=1",
    ] {
        assert!(one.check_url(url).is_ok(), "{url}");
    }
    let many = rules(&["https://*.example.com"], &[]);
    for url in ["https://a.example.com/", "https://a.b.c.example.com/x"] {
        assert!(many.check_url(url).is_ok(), "{url}");
    }
    let port = rules(&["http://api.example.com:8080/v1/*"], &[]);
    assert!(port.check_url("http://api.example.com:8080/v1/x").is_ok());
    assert!(port.check_url("http://api.example.com/v1/x").is_err());
    assert!(port.check_url("https://api.example.com:8080/v1/x").is_err());
}

#[test]
fn prefixes_of_paths_hold_at_borders_of_segments() {
    let rules = rules(&["https://api.example.com/v1/*", "https://api.example.com/exact"], &[]);
    let refused = [
        "/v1/%2e%2e/admin",
        "/v1\\..\\admin",
        "/v1/..\\admin",
        "/v1;/../admin",
        "/v1/;/../admin",
        "/v1/..%2fadmin",
        "/v1/%252e%252e/admin",
        "/v1//../admin",
        "/v1/../admin",
        "/v1/./x",
        "/v1/..",
        "/v1//x",
        "/v1/a;b",
        "/v1/%5c..%5cadmin",
        "/v1/%2E%2E/admin",
        "/v1/%2F",
        "/v1/%3b",
        "/v1/%00",
        "/v10",
        "/v1",
        "/",
        "",
        "/admin",
        "/V1/x",
        "/exact/",
        "/exact/x",
        "/exactly",
        "//v1/x",
        "/%76%31/x",
        "/v1/x#/../y",
    ];
    for path in refused {
        assert!(rules.check_url(&format!("https://api.example.com{path}")).is_err(), "{path}");
    }
    for path in [
        "/v1/",
        "/v1/x",
        "/v1/x/y.z",
        "/v1/%20x",
        "/v1/x?y=../..//;%2e",
        "/exact",
        "/exact?x",
        "/v1/..x",
        "/v1/%zz",
    ] {
        assert!(rules.check_url(&format!("https://api.example.com{path}")).is_ok(), "{path}");
    }
}

#[test]
fn what_the_operator_denies_is_refused_in_every_spelling() {
    let rules = rules(
        &["https://*.example.com", "http://*.example.com:8080"],
        &[
            "https://bad.example.com",
            "https://*.worse.example.com",
            "https://api.example.com/admin/*",
        ],
    );
    for url in [
        "https://bad.example.com/",
        "http://bad.example.com:8080/",
        "https://a.worse.example.com/",
        "https://api.example.com/admin/x",
        "https://api.example.com//admin/x",
        "https://api.example.com/x/../admin/y",
        "https://api.example.com/%2e/admin/y",
        "http://api.example.com:8080/admin/x",
    ] {
        let refused = rules.check_url(url).unwrap_err();
        assert!(refused.text().contains("operator"), "{url}: {refused}");
    }
    assert!(rules.check_url("https://api.example.com/other").is_ok());
    assert!(rules.check_name("bad.example.com").is_err());
    assert!(rules.check_destination("a.worse.example.com", 443).is_err());
    assert!(rules.check_destination("api.example.com", 443).is_ok());
}

#[test]
fn a_refusal_names_the_line_that_the_manifest_needs() {
    let rules = rules(&["https://api.example.com/v1/*"], &[]);
    let text = |refused: crate::egress::error::NetworkError| refused.text().to_owned();
    let host = text(rules.check_destination("other.example.com", 443).unwrap_err());
    assert!(
        host.contains("`other.example.com`")
            && host.contains("network = [\"https://other.example.com\"]"),
        "{host}"
    );
    let port = text(rules.check_destination("api.example.com", 8443).unwrap_err());
    assert!(port.contains("network = [\"https://api.example.com:8443\"]"), "{port}");
    let clear = text(rules.check_destination("api.example.com", 80).unwrap_err());
    assert!(clear.contains("network = [\"http://api.example.com\"]"), "{clear}");
    let path = text(rules.check_url("https://api.example.com/v2/x?token=secret").unwrap_err());
    assert!(path.contains("network = [\"https://api.example.com/v2/x\"]"), "{path}");
    assert!(!path.contains("secret"), "{path}");
    let operator = NetworkRules::new(RunPolicy::of_operator(Vec::new()), Arc::from([]), true);
    assert!(text(operator.check_name("a.example.com").unwrap_err()).contains("operator"));
    let disabled = NetworkRules::new(
        RunPolicy::of_manifest(vec![UrlPattern::parse("https://a.example.com").unwrap()]),
        Arc::from([]),
        false,
    );
    assert!(disabled.check_name("a.example.com").is_err());
    assert!(disabled.check_url("https://a.example.com/").is_err());
}

#[test]
fn one_reading_of_a_target_is_accepted() {
    let target = RequestTarget::parse("https://API.example.com:8443/a?b").unwrap();
    assert_eq!(target.destination.host.as_str(), "api.example.com");
    assert_eq!((target.destination.port, target.path.path()), (8443, "/a"));
    for text in ["api.example.com", "API.EXAMPLE.COM:8443", "api.example.com:8443"] {
        assert!(target.destination.is_named_by(text), "{text}");
    }
    for text in [
        "",
        "example.com",
        "api.example.com:443",
        "api.example.com:",
        "api.example.com:8443:",
        "api.example.com.",
        "u@api.example.com",
        "api.example.com:8443, evil.com",
        "evil.com",
    ] {
        assert!(!target.destination.is_named_by(text), "{text}");
    }
}

proptest! {
    #[test]
    fn granted_only_what_is_at_or_below_a_named_host(
        host in "([a-zA-Z0-9.%@:\\[\\]\\\\*_-]|example|\\.com){0,12}(\\.example\\.com)?",
        path in "(/[a-z.%0-9;\\\\/?#]{0,12})?",
    ) {
        for (pattern, is_wild) in [("https://api.example.com/v1/*", false), ("https://*.example.com", true)] {
            let rules = rules(&[pattern], &[]);
            let Ok(target) = rules.check_url(&format!("https://{host}{path}")) else { continue };
            let name = target.destination.host.as_str();
            prop_assert!(name.split('.').all(|label| !label.is_empty()
                && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')));
            prop_assert_eq!(target.destination.port, 443);
            if is_wild {
                prop_assert!(name.ends_with(".example.com") && name.len() > ".example.com".len());
            } else {
                prop_assert_eq!(name, "api.example.com");
                prop_assert!(target.path.path().starts_with("/v1/"));
                prop_assert!(!target.path.path().contains("/.."));
            }
        }
    }

    /// The matcher against the simplest possible one, on labels.
    #[test]
    fn hosts_match_by_labels(labels in proptest::collection::vec("[ab]{1,2}", 1..5), named in proptest::collection::vec("[ab]{1,2}", 1..4)) {
        let host = HostName::parse(&labels.join(".")).unwrap();
        let domain = format!("{}.abc", named.join("."));
        let host = HostName::parse(&format!("{host}.abc")).unwrap();
        let split = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
        let (have, want) = (split(host.as_str()), split(&domain));
        let one = UrlPattern::parse(&format!("https://{domain}")).unwrap();
        prop_assert_eq!(names_host(&one, &host), have == want);
        let below = UrlPattern::parse(&format!("https://*.{domain}")).unwrap();
        prop_assert_eq!(names_host(&below, &host), have.len() > want.len() && have.ends_with(&want));
    }

    #[test]
    fn no_text_panics(text in ".{0,60}", url in "https?://.{0,40}") {
        drop((HostName::parse(&text), RequestPath::parse(&text), RequestTarget::parse(&text)));
        let pattern = UrlPattern::parse("https://*.example.com").unwrap();
        if let Ok(target) = RequestTarget::parse(&url) {
            prop_assert!(!grants(&pattern, &target) || target.destination.host.as_str().ends_with(".example.com"));
        }
    }
}
