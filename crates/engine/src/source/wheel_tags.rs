//! The tags in the file name of a wheel: which interpreter and platform it was made for.

use std::ffi::OsString;

/// The interpreters whose native modules can be merged: the engine's, and the version before it as far as the
/// structures that a module uses do not differ.
const INTERPRETERS: [&str; 2] = ["cp314", "cp315"];

/// What a wheel has whose modules can be merged.
pub(super) const EXPECTED: &str = "cp315-cp315-pyemscripten_2026_5_wasm32";

/// The tags of a wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WheelTags<'a> {
    /// Such as `cp315`.
    pub(super) interpreter: &'a str,
    /// Such as `cp315`, or `abi3`.
    pub(super) abi: &'a str,
    /// Such as `pyemscripten_2026_5_wasm32`.
    pub(super) platform: &'a str,
}

impl<'a> WheelTags<'a> {
    /// The name and the version of the package, and the tags; `None` for a name that no wheel has.
    pub(super) fn parse(wheel: &'a str) -> Option<(&'a str, &'a str, Self)> {
        let parts: Vec<&str> = wheel.strip_suffix(".whl").unwrap_or(wheel).split('-').collect();
        let ([package, version, interpreter, abi, platform]
        | [package, version, _, interpreter, abi, platform]) = *parts.as_slice()
        else {
            return None;
        };
        Some((package, version, Self { interpreter, abi, platform }))
    }

    /// True if modules of such a wheel can be merged.
    pub(super) fn can_be_merged(self) -> bool {
        let is_interpreter = INTERPRETERS.contains(&self.interpreter);
        let is_abi = [self.interpreter, "abi3"].contains(&self.abi);
        let is_platform =
            self.platform.starts_with("pyemscripten_") && self.platform.ends_with("_wasm32");
        is_interpreter && is_abi && is_platform
    }

    /// The options by which the package client takes such a wheel on another platform.
    pub(super) fn options(self) -> Vec<OsString> {
        let number = self.interpreter.trim_start_matches(|sign: char| !sign.is_ascii_digit());
        let (major, minor) = number.split_at(number.len().min(1));
        let version = format!("{major}.{minor}");
        let options = [
            "--implementation",
            "cp",
            "--platform",
            self.platform,
            "--python-version",
            &version,
            "--abi",
            self.abi,
        ];
        options.map(OsString::from).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tags_of_a_wheel() {
        let wheel = "uuid_utils-1.2.0-7-cp314-abi3-pyemscripten_2026_0_wasm32.whl";
        let (package, version, tags) = WheelTags::parse(wheel).unwrap();
        assert_eq!((package, version, tags.can_be_merged()), ("uuid_utils", "1.2.0", true));
        assert_eq!(
            tags.options().join(" ".as_ref()),
            "--implementation cp --platform pyemscripten_2026_0_wasm32 --python-version 3.14 --abi abi3"
        );
        for other in [
            "a-1-cp313-cp313-pyemscripten_2026_0_wasm32.whl",
            "a-1-cp314-cp315-pyemscripten_2026_0_wasm32.whl",
            "a-1-cp315-cp315-manylinux_2_28_x86_64.whl",
            "a-1-py3-none-any.whl",
        ] {
            assert!(!WheelTags::parse(other).unwrap().2.can_be_merged(), "{other}");
        }
        for other in ["", "a-1.whl", "a-1-b-c-d-e-f-g.whl"] {
            assert_eq!(WheelTags::parse(other), None, "{other}");
        }
        let wheel = format!("a-1-{EXPECTED}.whl");
        let (.., expected) = WheelTags::parse(&wheel).unwrap();
        assert!(expected.can_be_merged());
    }
}
