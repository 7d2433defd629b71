//! Blobs at paths of the workspace.

use crate::vfs::tests::{BLOB, WRITE, at, files, limited, names_in_steps, read};
use crate::vfs::{Errno, FileSystem, Harvest, NameInWorkspace, OpenHow};
use wardian_formats::job::{SetupLimits, cost_of_placed};
use wardian_vocabulary::ids::WorkspacePath;
use wardian_vocabulary::units::ByteCount;

const CONTENT: &[u8] = b"a,b\n1,2\n";

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

/// What the workspace is charged before anything runs.
fn cost(paths: &[&str]) -> (u64, u32) {
    let paths: Vec<_> = paths.iter().map(|text| path(text)).collect();
    let size = ByteCount::bytes(8);
    let (bytes, entries) = cost_of_placed(paths.iter().map(|path| (path, size)));
    (bytes.as_u64(), entries)
}

fn left(files: &FileSystem) -> Vec<String> {
    let (left, total) = files.workspace_files(512, Harvest::All);
    assert_eq!(u64::try_from(left.len()).unwrap(), total);
    left.into_iter().map(|file| file.path).collect()
}

#[test]
fn a_placed_blob_is_a_file_of_its_folder_that_is_charged_and_not_left() {
    let mut files = files();
    for text in ["data/in.csv", "data/more/in.csv", "out.csv"] {
        files.place_blob(BLOB, &path(text), 5).unwrap();
        assert_eq!(read(&files, &format!("/workspace/{text}")).unwrap(), CONTENT);
    }
    assert_eq!(names_in_steps(&mut files, "/workspace", 9), [".", "..", "data", "out.csv"]);
    assert_eq!(names_in_steps(&mut files, "/workspace/data", 9), [".", "..", "in.csv", "more"]);
    let charged = cost(&["data/in.csv", "data/more/in.csv", "out.csv"]);
    assert_eq!(files.workspace_usage(), charged);
    assert_eq!(left(&files), Vec::<String>::new(), "nothing has changed");
    files.rename(at("/workspace/out.csv"), at("/workspace/moved.csv"), 6).unwrap();
    assert_eq!(left(&files), ["moved.csv"]);
}

#[test]
fn a_placed_blob_is_changed_without_changing_the_blob_or_another_place() {
    let mut files = files();
    for text in ["a/in.csv", "b/in.csv"] {
        files.place_blob(BLOB, &path(text), 5).unwrap();
    }
    let writer = files.open(at("/workspace/a/in.csv"), OpenHow { truncate: false, ..WRITE }, 6);
    let writer = writer.unwrap();
    files.write(writer, b"x", 7).unwrap();
    files.close(writer).unwrap();
    assert_eq!(read(&files, "/workspace/a/in.csv").unwrap(), b"x,b\n1,2\n");
    for untouched in ["/workspace/b/in.csv", BLOB] {
        assert_eq!(read(&files, untouched).unwrap(), CONTENT, "{untouched}");
    }
    assert_eq!(left(&files), ["a/in.csv"]);
    for file in ["a/in.csv", "b/in.csv"] {
        files.remove_file(at(&format!("/workspace/{file}")), 8).unwrap();
    }
    for folder in ["a", "b"] {
        files.remove_folder(at(&format!("/workspace/{folder}")), 9).unwrap();
    }
    assert_eq!(files.workspace_usage(), (0, 0), "all of it is given back");
}

#[test]
fn a_file_that_cannot_be_copied_stays_as_it_was() {
    let (bytes, entries) = cost(&["in.csv"]);
    let limits = SetupLimits {
        workspace: ByteCount::bytes(bytes),
        workspace_entries: entries,
        ..SetupLimits::DEFAULT
    };
    let mut tight = limited(limits);
    tight.place_blob(BLOB, &path("in.csv"), 5).unwrap();
    let before = tight.workspace_usage();
    let kept = OpenHow { truncate: false, ..WRITE };
    assert_eq!(tight.open(at("/workspace/in.csv"), kept, 6), Err(Errno::NoSpace));
    assert_eq!(tight.workspace_usage(), before, "it is charged as before");
    assert_eq!(read(&tight, "/workspace/in.csv").unwrap(), CONTENT);
}

#[test]
fn what_cannot_be_placed_is_refused_and_not_charged() {
    let mut files = files();
    files.place_blob(BLOB, &path("a"), 5).unwrap();
    let before = files.workspace_usage();
    assert_eq!(files.place_blob(BLOB, &path("a"), 5), Err(Errno::Exists));
    assert_eq!(files.place_blob(BLOB, &path("a/b"), 5), Err(Errno::NotFolder));
    assert_eq!(files.place_blob("/blobs/blob:gone", &path("c"), 5), Err(Errno::NotFound));
    assert_eq!(files.workspace_usage(), before);
    let (bytes, _) = cost(&["in.csv"]);
    let limits = SetupLimits { workspace: ByteCount::bytes(bytes - 1), ..SetupLimits::DEFAULT };
    let mut small = limited(limits);
    assert_eq!(small.place_blob(BLOB, &path("in.csv"), 5), Err(Errno::NoSpace));
    assert_eq!(small.workspace_usage(), (0, 0));
}

#[test]
fn a_name_yields_to_a_path() {
    let mut files = files();
    files.place_blob(BLOB, &path("sales.csv/x"), 5).unwrap();
    files.name_blob(BLOB, "sales.csv", NameInWorkspace::Listed, 5).unwrap();
    assert_eq!(read(&files, "/workspace/sales.csv/x").unwrap(), CONTENT);
    assert_eq!(read(&files, "/blobs/sales.csv").unwrap(), CONTENT);
}
