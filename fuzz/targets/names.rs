//! Texts that name something: skills, versions, blobs, runs, tenants, files, URLs, pages of a list.
//!
//! Beyond "no panic": a name that is accepted prints as it was written, is safe as a name in a
//! folder, and a path below a folder stays below it. No text opens as a cursor that was not sealed.

#![no_main]

use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use wardian_vocabulary::ids::{BlobId, Digest, RunId, SkillName, SkillVersion, TenantId};
use wardian_skills::registry::cursor::CursorKey;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_formats::skill::path::check_path;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    check_names(text);
    check_file(text);
    check_url(text);
    check_cursor(text);
});

fn check_names(text: &str) {
    if let Ok(name) = SkillName::parse(text) {
        assert_eq!(name.to_string(), text);
        assert_is_one_folder(text);
        let module = name.module_path();
        assert!(module.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.'));
    }
    if let Ok(version) = SkillVersion::parse(text) {
        assert_eq!(version.to_string(), text);
        assert_is_one_folder(text);
        assert!(!text.contains('+'));
    }
    if let Ok(id) = BlobId::parse(text) {
        assert_eq!(id.to_string(), text);
        assert_is_one_folder(id.letters());
        assert_eq!(id.letters().len(), 52);
    }
    if let Ok(id) = RunId::parse(text) {
        assert_eq!(id.to_string(), text);
        assert_is_one_folder(text);
    }
    if let Ok(tenant) = TenantId::parse(text) {
        assert_eq!(tenant.to_string(), text);
        assert_is_one_folder(text);
    }
    if let Ok(digest) = Digest::parse(text) {
        assert_eq!(digest.to_string(), text);
    }
}

/// Joined to a folder, it is one entry of that folder, whatever the operating system.
fn assert_is_one_folder(text: &str) {
    let mut components = Path::new(text).components();
    assert!(matches!(components.next(), Some(Component::Normal(_))), "{text:?}");
    assert_eq!(components.next(), None, "{text:?}");
    assert!(!text.contains(['/', '\\', '\0', ':', '~', '%']) && text.is_ascii(), "{text:?}");
    assert!(!text.starts_with('.'), "{text:?}");
}

fn check_file(text: &str) {
    if check_path(text).is_err() {
        return;
    }
    let path = Path::new(text);
    assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{text:?}");
    assert_eq!(path.components().count(), text.split('/').count(), "{text:?} has two spellings");
}

fn check_url(text: &str) {
    let Ok(pattern) = UrlPattern::parse(text) else { return };
    assert_eq!(UrlPattern::parse(pattern.as_str()).as_ref(), Ok(&pattern));
    let (host, path) = (pattern.host(), pattern.path());
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.');
    assert!(!host.is_empty() && host.bytes().all(letter), "{host:?}");
    assert!(host.contains('.') || !pattern.allows_subdomains(), "{host:?} and all below it");
    assert!(path.is_empty() || path.starts_with('/'), "{path:?}");
    assert!(path.split('/').all(|part| !matches!(part, "." | "..")), "{path:?}");
    assert!(!path.contains(['\\', '%', '\0', ' ']), "{path:?}");
    assert_ne!(pattern.port(), 0);
}

fn check_cursor(text: &str) {
    let key = CursorKey::from_bytes([7; 32]);
    assert!(key.open(None, text).is_err(), "{text:?} was never sealed");
    let Ok(name) = SkillName::parse(text) else { return };
    let cursor = key.seal(Some("a"), &name);
    assert_eq!(key.open(Some("a"), &cursor), Ok(name));
    assert!(key.open(Some("b"), &cursor).is_err() && key.open(None, &cursor).is_err());
    assert!(CursorKey::from_bytes([8; 32]).open(Some("a"), &cursor).is_err());
}
