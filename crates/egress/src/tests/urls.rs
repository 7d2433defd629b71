//! Which URLs a pattern grants: the table of spellings that parsers read differently.

use std::sync::Arc;

use proptest::prelude::*;

use crate::error::errno;
use crate::policy::rules::NetworkRules;
use crate::policy::target::{HostName, RequestPath, RequestTarget};
use crate::policy::{RunPolicy, grants, names_host};
use wardian_formats::skill::manifest::url_pattern::UrlPattern;

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

/// Paths that are below none of the patterns of `prefixes_of_paths_hold_at_borders_of_segments`, or
/// that could be read in two ways.
const OUTSIDE: &[&str] = &[
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
    "/v1/..%20/v2",
    "/v1/%20../v2",
    "/v1/..%09/v2",
    "/v1/..%01/v2",
    "/v1/..%c0%afv2",
    "/v1/%c0%ae%c0%ae/v2",
    "/v1/%c1%9c..%c1%9c",
    "/v1/%e0%80%ae%e0%80%ae/v2",
    "/v1/%ef%bc%8e%ef%bc%8e/v2",
    "/v1/..%ef%bc%8fv2",
    "/v1/%e2%80%a5/v2",
    "/v1/%20x",
    "/v1/x%20",
    "/v1/.../v2",
    "/v1/%0d%0aHost:%20x",
    "/v1/%7f",
    "/v1/%c2%85x",
    "/v1/%e9",
    "/v1/%ff",
    "/v1/%zz",
    "/v1/%",
    "/v1/%2",
    "/v1/%+5",
    "/v1/%u002e%u002e/v2",
];

/// Paths that are below one of them.
const INSIDE: &[&str] = &[
    "/v1/",
    "/v1/x",
    "/v1/x/y.z",
    "/v1/a%20b%20c.pdf",
    "/v1/Sheet1!A1:B2",
    "/v1/%E6%96%87%E5%AD%97/%C3%A9",
    "/v1/What%3F",
    "/v1/100%ef%bc%85",
    "/v1/x?y=../..//;%2e%zz%00",
    "/exact",
    "/exact?x",
    "/v1/..x",
    "/v1/x.",
    "/v1/~user/a@b,c=d&e'f(g)*+",
];

#[test]
fn prefixes_of_paths_hold_at_borders_of_segments() {
    let rules = rules(&["https://api.example.com/v1/*", "https://api.example.com/exact"], &[]);
    for path in OUTSIDE {
        assert!(rules.check_url(&format!("https://api.example.com{path}")).is_err(), "{path}");
    }
    for path in INSIDE {
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
            "https://api.example.com/login",
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
        "https://api.example.com/%61dmin/x",
        "https://api.example.com/adm%69n/x",
        "https://api.example.com/%61%64%6D%69%6e/x",
        "https://api.example.com/%2561dmin/x",
        "https://api.example.com/ADMIN/x",
        "https://api.example.com/Adm%49n/x",
        "https://api.example.com/adm%C4%B1n/x",
        "https://api.example.com/%EF%BD%81dmin/x",
        "https://api.example.com/admin./x",
        "https://api.example.com/admin%20/x",
        "https://api.example.com/admin::$DATA/x",
        "https://api.example.com/admin;a=b/x",
        "https://api.example.com/admin/:x",
        "https://api.example.com/%c1%a1dmin/x",
        "https://api.example.com/%u0061dmin/x",
        "https://api.example.com/login",
        "https://api.example.com/login/",
        "https://api.example.com/login/:x",
        "https://api.example.com/LOGIN%3fx",
        "https://api.example.com/login%23x",
    ] {
        let refused = rules.check_url(url).unwrap_err();
        assert!(refused.text().contains("operator"), "{url}: {refused}");
    }
    for path in ["/other", "/admins/x", "/x/admin/y", "/login/x", "/administrator", "/%C3%A4dmin/x"]
    {
        assert!(rules.check_url(&format!("https://api.example.com{path}")).is_ok(), "{path}");
    }
    assert!(rules.check_name("bad.example.com").is_err());
    assert!(rules.check_destination("a.worse.example.com", 443).is_err());
    assert!(rules.check_destination("api.example.com", 443).is_ok());
}

#[test]
fn a_refusal_names_the_line_that_the_manifest_needs() {
    let rules = rules(&["https://api.example.com/v1/*"], &[]);
    let text = |refused: crate::error::NetworkError| refused.text().to_owned();
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

    /// The test of the invariant `denied-in-every-spelling`, against servers of all kinds.
    #[test]
    fn denied_in_every_spelling_that_a_server_decodes(
        tokens in proptest::collection::vec(proptest::sample::select(TOKENS), 1..14),
        letters in proptest::collection::vec(0_usize..6, 12),
    ) {
        let rules = rules(&["https://api.example.com"], &["https://api.example.com/admin/*"]);
        // Any path of these tokens, and the denied path with each letter spelt in some way.
        let spelt: String = "/admin/".chars().zip(letters).map(|(letter, way)| spelt(letter, way)).collect();
        let spelt = format!("/{}", spelt.trim_start_matches('/'));
        for path in [format!("/{}", tokens.concat()), format!("{spelt}{}", tokens.concat())] {
            let is_read = SERVERS.iter().any(|server| server(&path).starts_with("/admin/"));
            let is_sent = rules.check_url(&format!("https://api.example.com{path}")).is_ok();
            prop_assert!(!(is_read && is_sent), "{path} is sent");
        }
    }
}

#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "/", "/", "admin", "ADMIN", "a", "%61", "%41", "%2561", "dmin", "dm", "%69", "%49", "in", "n", "%6E", ".", "..",
    "%2e", "%2E%2e", "%252e", "%2f", "%252f", "%5c", ";x", "%3b", "%20", "%09", "%00", "%0a", ":x", "x", "%c0%af",
    "%c1%a1", "%ef%bc%8f", "%ef%bd%81", "%c4%b1", "?y", "%3f", "%",
];

/// A letter in one of its spellings.
fn spelt(letter: char, way: usize) -> String {
    let code = u32::from(letter);
    match way {
        0 => letter.to_string(),
        1 => format!("%{code:02x}"),
        2 => format!("%{code:02X}"),
        3 => letter.to_ascii_uppercase().to_string(),
        4 => format!("%25{code:02x}"),
        _ => format!("%{:02x}", u32::from(letter.to_ascii_uppercase())),
    }
}

/// How servers make the path that they look up of the path that they get.
const SERVERS: &[fn(&str) -> String] = &[
    // Apache, nginx: decode once, resolve dots, merge slashes.
    |path| resolved(&decoded(before_query(path)), str::to_owned),
    // Behind a proxy that decodes as well.
    |path| resolved(&decoded(&decoded(before_query(path))), str::to_owned),
    // Java: parameters are dropped first.
    |path| {
        resolved(&decoded(before_query(path)), |segment| {
            segment.split(';').next().unwrap().to_owned()
        })
    },
    // IIS: backslashes, no case, blanks and dots at the end, streams, wide letters.
    |path| {
        let path = decoded(before_query(path)).replace('\\', "/").to_lowercase();
        resolved(&path, |segment| {
            let name = segment.split(':').next().unwrap();
            let name = if name == ".." { name } else { name.trim_end_matches(['.', ' ', '\t']) };
            name.replace('ａ', "a")
        })
    },
    // One that decodes before it cuts the query off.
    |path| resolved(before_query(&decoded(path)), str::to_lowercase),
    // C: a NUL ends the path.
    |path| {
        resolved(decoded(before_query(path)).split('\0').next().unwrap(), |segment| {
            segment.to_owned()
        })
    },
    // Capitals are compared, as `equalsIgnoreCase` does.
    |path| resolved(&decoded(before_query(path)).to_uppercase(), str::to_lowercase),
];

fn before_query(path: &str) -> &str {
    path.split('?').next().unwrap()
}

/// Decodes what it can, overlong forms of two bytes included, and leaves the rest.
fn decoded(path: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
    while let Some((first, more)) = rest.split_first() {
        let code = more.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        (rest, ()) = match byte.filter(|_| *first == b'%') {
            Some(byte) => (&more[2..], bytes.push(byte)),
            None => (more, bytes.push(*first)),
        };
    }
    let mut short = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some((first, more)) = rest.split_first() {
        let second = more.first().filter(|_| matches!(first, 0xc0 | 0xc1));
        (rest, ()) = match second {
            Some(second) => (&more[1..], short.push((first & 3) << 6 | second & 0x3f)),
            None => (more, short.push(*first)),
        };
    }
    String::from_utf8_lossy(&short).into_owned()
}

/// Resolves dots and merges slashes, after `map` has changed each segment.
fn resolved(path: &str, map: impl Fn(&str) -> String) -> String {
    let mut kept: Vec<String> = Vec::new();
    let ends_with_slash = path.ends_with('/');
    for segment in path.split('/').map(map) {
        match segment.as_str() {
            "" | "." => {}
            ".." => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    format!("/{}{}", kept.join("/"), if ends_with_slash { "/" } else { "" })
}
