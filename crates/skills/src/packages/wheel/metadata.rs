//! `WHEEL` and `METADATA` of a wheel: header lines as in a mail.

use std::str::FromStr as _;

use pep440_rs::Version;
use pep508_rs::PackageName;

use crate::packages::wheel::file_name::{NativeTags, WheelName};
use crate::packages::wheel::kind::WheelKind;

/// The values of a header, by its name in any case.
fn headers<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let head = text.lines().take_while(|line| !line.is_empty());
    head.filter_map(move |line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Checks `WHEEL`. Returns the problem, as the end of a sentence that begins with the wheel's name.
pub(super) fn wheel_fault(text: &str, name: &WheelName) -> Option<String> {
    let version = headers(text, "Wheel-Version").next().unwrap_or_default();
    if !version.starts_with("1.") {
        return Some("is of an unknown version of the format".to_owned());
    }
    if let Some(NativeTags { abi, platform, .. }) = name.native() {
        let own = format!("{abi}-{abi}-{platform}");
        let has_own = headers(text, "Tag").any(|tag| tag == own);
        return (!has_own).then(|| "declares other tags than its name has".to_owned());
    }
    // A pure wheel may still say `false`; what it contains is checked file by file.
    let kinds = headers(text, "Tag").map(|tag| WheelKind::of(&format!("a-1-{tag}.whl")));
    let kinds: Vec<WheelKind> = kinds.collect();
    if kinds.is_empty() || !kinds.contains(&WheelKind::Pure) {
        return Some("declares that it is not pure Python for every system".to_owned());
    }
    None
}

/// Checks that `METADATA` is of the package that the file's name states.
pub(super) fn metadata_fault(text: &str, name: &WheelName) -> Option<String> {
    let package = headers(text, "Name").next().and_then(|name| PackageName::from_str(name).ok());
    let version = headers(text, "Version").next().and_then(|text| Version::from_str(text).ok());
    if package.as_ref() != Some(&name.package) {
        return Some("holds the metadata of another package".to_owned());
    }
    (version.as_ref() != Some(&name.version))
        .then(|| "holds the metadata of another version".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_must_be_those_of_the_package() {
        let name = WheelName::parse("Foo_Bar-1.0-py3-none-any.whl").unwrap();
        let fault = |text| metadata_fault(text, &name);
        assert_eq!(fault("Metadata-Version: 2.1\nName: foo.bar\nversion: 1.0.0\n\nName: x"), None);
        assert!(fault("Name: foo\nVersion: 1.0\n").is_some());
        assert!(fault("Name: foo-bar\nVersion: 1.1\n").is_some());
        assert!(fault("\nName: foo-bar\nVersion: 1.0\n").is_some());
    }

    #[test]
    fn a_wheel_must_call_itself_pure() {
        let name = WheelName::parse("a-1-py3-none-any.whl").unwrap();
        let fault = |text| wheel_fault(text, &name);
        assert_eq!(fault("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"), None);
        assert_eq!(fault("Wheel-Version: 1.0\nTag: py2-none-any\nTag: py3-none-any\n"), None);
        assert!(fault("Wheel-Version: 1.0\nTag: cp313-cp313-linux_x86_64\n").is_some());
        assert!(fault("Wheel-Version: 2.0\nTag: py3-none-any\n").is_some());
        assert!(fault("").is_some());
        let native = "a-1-cp314-cp314-pyemscripten_2026_0_wasm32.whl";
        let native = WheelName::parse_native(native).unwrap();
        let fault = |tag: &str| wheel_fault(&format!("Wheel-Version: 1.0\nTag: {tag}\n"), &native);
        assert_eq!(fault("cp314-cp314-pyemscripten_2026_0_wasm32"), None);
        assert!(fault("py3-none-any").is_some());
    }
}
