//! Listing, nesting and dropping folders.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::vfs::tests::{WORKSPACE, at, files, names_in_steps, write};
use crate::vfs::{At, Errno, ListedEntry, MAX_DEPTH, OpenHow};

#[test]
fn listings_survive_every_change_of_the_folder() {
    let mut files = files();
    for number in 0..100 {
        write(&mut files, &format!("/workspace/{number:03}"), b"").unwrap();
    }
    let fd = files.open(at("/workspace"), OpenHow::READ, 0).unwrap();
    let (mut seen, mut cookie) = (Vec::new(), 0);
    loop {
        let mut batch = Vec::new();
        let show = |entry: ListedEntry<'_>| {
            if batch.len() == 7 {
                return ControlFlow::Break(());
            }
            batch.push((entry.name.to_owned(), entry.next_cookie));
            ControlFlow::Continue(())
        };
        files.list(fd, cookie, show).unwrap();
        let Some((_, last)) = batch.last() else { break };
        cookie = *last;
        // Remove all entries that were just listed, and add names before and after them.
        for (name, _) in &batch {
            if !name.starts_with('.') {
                files.remove_file(at(&format!("/workspace/{name}")), 0).unwrap();
                write(&mut files, &format!("/workspace/!{name}"), b"").unwrap();
            }
        }
        seen.extend(batch.into_iter().map(|(name, _)| name));
    }
    let expected: Vec<String> = (0..100).map(|number| format!("{number:03}")).collect();
    assert_eq!(seen[2..], expected);
}

#[test]
fn a_listing_continues_from_the_cookie_of_any_present_entry() {
    let mut files = files();
    for name in ["a", "b", "c", "d"] {
        write(&mut files, &format!("/workspace/{name}"), b"").unwrap();
    }
    for path in ["/workspace", "/skills/acme.report", "/"] {
        let fd = files.open(at(path), OpenHow::READ, 0).unwrap();
        let mut all = Vec::new();
        let collect = |entry: ListedEntry<'_>| {
            all.push((entry.name.to_owned(), entry.next_cookie));
            ControlFlow::Continue(())
        };
        files.list(fd, 0, collect).unwrap();
        for (index, (_, cookie)) in all.iter().enumerate().rev() {
            let mut next = None;
            let first = |entry: ListedEntry<'_>| {
                next = Some(entry.name.to_owned());
                ControlFlow::Break(())
            };
            files.list(fd, *cookie, first).unwrap();
            assert_eq!(next.as_ref(), all.get(index + 1).map(|(name, _)| name), "{path}");
        }
        assert_eq!(files.list(fd, u64::MAX, |_| ControlFlow::Break(())), Ok(()));
        assert_eq!(names_in_steps(&mut files, path, 1).len(), all.len());
    }
}

#[test]
fn listing_a_folder_takes_time_in_proportion_to_its_size() {
    let mut files = files();
    for number in 0..9_000 {
        write(&mut files, &format!("/workspace/{number}"), b"").unwrap();
    }
    let start = Instant::now();
    assert_eq!(names_in_steps(&mut files, "/workspace", 100).len(), 9_002);
    assert_eq!(names_in_steps(&mut files, "/workspace", 1).len(), 9_002);
    // A quadratic listing in steps of one would look at 40 million entries.
    assert!(start.elapsed() < Duration::from_millis(500), "took {:?}", start.elapsed());
}

#[test]
fn flat_drop_of_the_deepest_and_fullest_workspace() {
    let mut files = files();
    let mut folder = WORKSPACE;
    for _ in 0..MAX_DEPTH - 1 {
        files.make_folder(At { folder, path: "d" }, 0).unwrap();
        let below = files.open(At { folder, path: "d" }, OpenHow::READ, 0).unwrap();
        if folder != WORKSPACE {
            files.close(folder).unwrap();
        }
        folder = below;
    }
    let too_deep = files.make_folder(At { folder, path: "d" }, 0);
    assert_eq!(too_deep, Err(Errno::NameTooLong));
    for number in 0..9_000 {
        files.make_link("target", At { folder, path: &number.to_string() }, 0).unwrap();
    }
    let start = Instant::now();
    std::thread::Builder::new()
        .stack_size(64 << 10)
        .spawn(move || drop(files))
        .unwrap()
        .join()
        .unwrap();
    assert!(start.elapsed() < Duration::from_millis(200), "took {:?}", start.elapsed());
}

#[test]
fn folders_cannot_be_moved_beyond_the_deepest_level() {
    let mut files = files();
    let deep = "d/".repeat(200);
    let mut folder = WORKSPACE;
    for _ in 0..200 {
        files.make_folder(At { folder, path: "d" }, 0).unwrap();
        folder = files.open(At { folder, path: "d" }, OpenHow::READ, 0).unwrap();
    }
    files.make_folder(at("/workspace/tower"), 0).unwrap();
    let tower = files.open(at("/workspace/tower"), OpenHow::READ, 0).unwrap();
    files.make_folder(At { folder: tower, path: "t/" }, 0).unwrap();
    let mut path = "t".to_owned();
    for _ in 0..53 {
        path.push_str("/t");
        files.make_folder(At { folder: tower, path: &path }, 0).unwrap();
    }
    let (from, to) = (at("/workspace/tower"), format!("/workspace/{deep}tower"));
    assert_eq!(files.rename(from, at(&to), 0), Ok(()), "255 levels fit");
    files.rename(at(&to), from, 0).unwrap();
    path.push_str("/t/");
    files.make_folder(At { folder: tower, path: &path }, 0).unwrap();
    assert_eq!(files.rename(from, at(&to), 0), Err(Errno::NameTooLong));
}
