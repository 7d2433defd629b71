//! Where the system shows the cgroup of this process: `/proc/self/cgroup` and
//! `/proc/self/mountinfo`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

/// A mount of the cgroup file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupMount {
    /// The cgroup that is shown at its top.
    top: PathBuf,
    /// The folder that it is mounted on.
    folder: PathBuf,
}

impl CgroupMount {
    /// The folder of the cgroup at `path`, if this mount shows it.
    pub(super) fn folder_of(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.top).ok()?;
        let is_plain = |part| matches!(part, Component::Normal(_));
        below.components().all(is_plain).then(|| self.folder.join(below))
    }
}

/// The path of a process's cgroup of version 2, from its file `cgroup` in `/proc`.
pub(super) fn own_path(cgroup: &[u8]) -> Option<PathBuf> {
    let mut lines = cgroup.split(|byte| *byte == b'\n');
    let path = lines.find_map(|line| line.strip_prefix(b"0::"))?;
    path.starts_with(b"/").then(|| to_path(path.to_vec()))
}

/// The mounts of version 2, from the file `mountinfo` of a process.
pub(super) fn cgroup_mounts(mountinfo: &[u8]) -> Vec<CgroupMount> {
    mountinfo.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// A line such as `31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup rw`.
fn mount(line: &[u8]) -> Option<CgroupMount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let (top, folder) = (fields.nth(3)?, fields.next()?);
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    (kind == b"cgroup2").then(|| CgroupMount { top: unescaped(top), folder: unescaped(folder) })
}

/// A path in which the kernel has written white space and backslashes as `\040`.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match (byte, octal(behind)) {
            (b'\\', Some((code, behind))) => {
                bytes.push(code);
                rest = behind;
            }
            _ => bytes.push(*byte),
        }
    }
    to_path(bytes)
}

fn octal(text: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, behind) = text.split_at_checked(3)?;
    let code = u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok()?;
    Some((code, behind))
}

fn to_path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As the kernel writes a path into `mountinfo`.
    fn escaped(path: &str) -> String {
        let escape = |letter: char| match letter {
            ' ' | '\t' | '\n' | '\\' => format!("\\{:03o}", u32::from(letter)),
            _ => letter.to_string(),
        };
        path.chars().map(escape).collect()
    }

    #[test]
    fn the_line_of_version_2_names_the_cgroup() {
        let hybrid = b"4:memory:/jobs\n1:name=systemd:/\n0::/system.slice/wardian.service\n";
        let expected = Some(PathBuf::from("/system.slice/wardian.service"));
        assert_eq!(own_path(hybrid), expected);
        assert_eq!(own_path(b"0::/a:b c\n"), Some(PathBuf::from("/a:b c")));
        for none in [&b""[..], b"4:memory:/jobs\n", b"0::\n", b"10::/x\n", b"\n\n"] {
            assert_eq!(own_path(none), None);
        }
    }

    #[test]
    fn only_mounts_of_version_2_are_found_and_only_what_they_show() {
        let text = b"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
            41 31 0:38 /pod/one /sys/fs/cgroup/my\\040one rw shared:9 master:1 - cgroup2 none rw\n\
            nonsense\n42 - cgroup2\n";
        let mounts = cgroup_mounts(text);
        assert_eq!(mounts.len(), 1, "{mounts:?}");
        let shown = |path: &str| mounts[0].folder_of(Path::new(path));
        assert_eq!(shown("/pod/one/a"), Some("/sys/fs/cgroup/my one/a".into()));
        assert_eq!(shown("/pod/one"), Some("/sys/fs/cgroup/my one/".into()));
        for hidden in ["/pod", "/pod/ones", "/", "/pod/one/../two", "/../x"] {
            assert_eq!(shown(hidden), None, "{hidden}");
        }
    }

    proptest! {
        #[test]
        fn any_mount_is_read_as_the_kernel_writes_it(
            top in "(/[a-z \\\\.:@-]{1,9}){0,3}", folder in "(/[a-zé \\\\\t-]{1,9}){1,4}",
            below in "(/[a-z]{1,5}){0,3}", tags in "( [a-z]{3,6}:[0-9]){0,2}",
        ) {
            prop_assume!(!top.contains("/.") && !folder.contains("/."));
            let top = if top.is_empty() { "/".to_owned() } else { top };
            let line = format!(
                "7 1 0:9 {} {} rw,nosuid{tags} - cgroup2 cgroup2 rw,nsdelegate",
                escaped(&top), escaped(&folder)
            );
            let mounts = cgroup_mounts(line.as_bytes());
            let expected = CgroupMount { top: top.clone().into(), folder: folder.clone().into() };
            prop_assert_eq!(&mounts, &[expected]);
            let path = PathBuf::from(format!("{}{below}", top.trim_end_matches('/')));
            let path = Path::new("/").join(path);
            let found = mounts[0].folder_of(&path).unwrap();
            prop_assert_eq!(found, Path::new(&folder).join(below.trim_start_matches('/')));
        }

        #[test]
        fn nothing_that_is_written_there_is_a_panic(text: Vec<u8>, lines in "([0-9a-z/ \\\\-]*\n){0,4}") {
            for text in [text, lines.into_bytes()] {
                own_path(&text);
                for mount in cgroup_mounts(&text) {
                    mount.folder_of(Path::new("/a"));
                }
            }
        }
    }
}
