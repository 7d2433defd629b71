//! Bounds of paths: the places that they reach, and their lengths.

use proptest::prelude::*;

use crate::vfs::tests::{BLOB, WRITE, at, files, names, read, within, write};
use crate::vfs::{Errno, LastLink, MAX_LINKS, MAX_NAME, MAX_PATH, OpenHow};

#[test]
fn no_outside_is_ever_reached() {
    let mut files = files();
    files.make_link("../../../../../../etc/passwd", at("/workspace/up"), 0).unwrap();
    files.make_link("/etc/passwd", at("/workspace/absolute"), 0).unwrap();
    for path in [
        "/etc/passwd",
        "/proc/self/environ",
        "../../etc/passwd",
        "/workspace/../../etc/passwd",
        "/skills/acme.report/../../../etc/shadow",
        "//etc/passwd",
        "/workspace/up",
        "/workspace/absolute",
    ] {
        assert_eq!(files.open(at(path), OpenHow::READ, 0), Err(Errno::NotFound), "{path}");
        assert_eq!(read(&files, path), Err(Errno::NotFound), "{path}");
    }
    let root = files.stat(at("/"), LastLink::Follow).unwrap();
    for path in
        ["..", "/..", "/../../..", "/workspace/../..", "/skills/acme.report/code/../../../.."]
    {
        assert_eq!(files.stat(at(path), LastLink::Follow), Ok(root), "{path}");
    }
}

#[test]
fn a_relative_path_of_the_host_starts_in_the_workspace() {
    let mut files = files();
    write(&mut files, "/workspace/out.csv", b"1").unwrap();
    files.make_link("out.csv", at("/workspace/link"), 0).unwrap();
    assert_eq!(read(&files, "out.csv").unwrap(), b"1");
    assert_eq!(read(&files, "link").unwrap(), b"1");
    assert_eq!(read(&files, "../blobs/blob:abc").unwrap(), b"a,b\n1,2\n");
    assert_eq!(files.read_file("out.csv", 0).unwrap_err(), Errno::FileTooBig);
    assert_eq!(files.read_file(BLOB, 7).unwrap_err(), Errno::FileTooBig);
    assert_eq!(files.read_file("/workspace", 9).unwrap_err(), Errno::IsFolder);
    assert_eq!(files.read_file("/skills/acme.report", 9).unwrap_err(), Errno::IsFolder);
}

#[test]
fn names_paths_and_links_end_at_the_limits_of_linux() {
    let mut files = files();
    let longest = "n".repeat(MAX_NAME);
    assert_eq!(files.make_folder(at(&format!("/workspace/{longest}")), 0), Ok(()));
    let too_long = files.make_folder(at(&format!("/workspace/{longest}n")), 0);
    assert_eq!(too_long, Err(Errno::NameTooLong));

    let path = format!("/workspace/{}", "./".repeat((MAX_PATH - 12) / 2));
    assert_eq!(path.len(), MAX_PATH - 1);
    assert!(files.stat(at(&path), LastLink::Follow).is_ok());
    let stat = files.stat(at(&format!("{path}.")), LastLink::Follow);
    assert_eq!(stat, Err(Errno::NameTooLong));
    let link = files.make_link(&"t".repeat(MAX_PATH), at("/workspace/link"), 0);
    assert_eq!(link, Err(Errno::NameTooLong));

    write(&mut files, "/workspace/0", b"end").unwrap();
    for number in 0..=MAX_LINKS {
        let link = format!("/workspace/{}", number + 1);
        files.make_link(&number.to_string(), at(&link), 0).unwrap();
    }
    assert_eq!(read(&files, &MAX_LINKS.to_string()).unwrap(), b"end");
    assert_eq!(read(&files, &(MAX_LINKS + 1).to_string()), Err(Errno::LinkLoop));
    files.make_link("self", at("/workspace/self"), 0).unwrap();
    assert_eq!(read(&files, "self"), Err(Errno::LinkLoop));
    assert_eq!(read(&files, "a\0b"), Err(Errno::Invalid));
    assert_eq!(read(&files, ""), Err(Errno::NotFound));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_path_or_an_error(
        texts in prop::collection::vec("[a/.\\PC\0]{0,12}", 1..20),
        ) {
        let mut files = files();
        let before = names(&mut files, "/");
        for pair in texts.windows(2) {
            let [one, two] = pair else { continue };
            let errors = [
                files.make_folder(within(one), 0).err(),
                files.make_link(one, within(two), 0).err(),
                files.add_name(within(one), LastLink::Follow, within(two), 0).err(),
                files.open(within(one), WRITE, 0).err(),
                files.rename(within(one), within(two), 0).err(),
                files.stat(within(two), LastLink::Keep).err(),
                files.read_link(within(two)).err(),
                files.remove_file(within(one), 0).err(),
                files.remove_folder(within(two), 0).err(),
                files.read_file(one, 1 << 20).err(),
            ];
            // That would be a node which nothing is known about.
            prop_assert!(!errors.contains(&Some(Errno::InputOutput)));
        }
        prop_assert_eq!(names(&mut files, "/"), before);
        prop_assert_eq!(read(&files, "/skills/acme.report/SKILL.md").unwrap(), b"# Report");
    }
}
