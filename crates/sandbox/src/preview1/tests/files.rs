//! Files, folders and output through the functions of preview 1.

use crate::preview1::layout;
use crate::preview1::tests::{CREATE, Guest, OUT, PATHS, READ, WRITE, number};
use crate::vfs::{Errno, MOUNT_TIME};

#[test]
fn output_is_captured_and_never_refused() {
    let mut guest = Guest::live();
    assert_eq!(guest.write(1, b"hello "), Ok(6));
    assert_eq!(guest.write(1, b"world\n"), Ok(6));
    assert_eq!(guest.write(2, b"oh"), Ok(2));
    assert_eq!(guest.write(0, b"in"), Err(number(Errno::BadDescriptor)));
    for _ in 0..300 {
        assert_eq!(guest.write(1, &[b'x'; 8000]), Ok(8000));
    }
    let logs = guest.logs();
    assert_eq!(logs.chunks[0].text, "hello world\n");
    assert_eq!(logs.chunks[1].text, "oh");
    assert!(logs.dropped > 300 * 8000 - (1 << 20));
}

#[test]
fn a_file_reads_back_what_was_written() {
    let mut guest = Guest::live();
    let fd = guest.open(4, "a.txt", CREATE, READ | WRITE).unwrap();
    assert_eq!(guest.write(fd, b"0123456789"), Ok(10));
    guest.call("fd_seek", &[fd, (-4_i64).cast_unsigned(), 2, OUT.into()]).unwrap();
    assert_eq!(guest.u64(OUT), 6);
    let [start, count] = guest.vectors(&[(0x6000, 3), (0x6100, 9)]);
    guest.call("fd_read", &[fd, start, count, OUT.into()]).unwrap();
    assert_eq!(
        (guest.u32(OUT), guest.bytes(0x6000, 3), guest.bytes(0x6100, 2)),
        (4, b"678".into(), b"9\0".into())
    );
    guest.call("fd_tell", &[fd, OUT.into()]).unwrap();
    assert_eq!(guest.u64(OUT), 10);
    let [start, count] = guest.vectors(&[(0x6000, 2), (0x6002, 2)]);
    guest.call("fd_pread", &[fd, start, count, 1, OUT.into()]).unwrap();
    assert_eq!(guest.bytes(0x6000, 4), b"1234");
    guest.call("fd_pwrite", &[fd, start, count, 8, OUT.into()]).unwrap();
    guest.call("fd_filestat_get", &[fd, OUT.into()]).unwrap();
    let stat = guest.bytes(OUT, 64);
    assert_eq!((stat[16], u64::from_le_bytes(stat[32..40].try_into().unwrap())), (4, 12));
    guest.call("fd_close", &[fd]).unwrap();
    assert_eq!(guest.call("fd_close", &[fd]), Err(number(Errno::BadDescriptor)));
}

#[test]
fn metadata_is_laid_out_as_c_expects() {
    let mut guest = Guest::live();
    let [start, len] = guest.path(0, "skills/s/file07");
    guest.put(OUT, &[0xff; 64]);
    guest.call("path_filestat_get", &[3, 1, start, len, OUT.into()]).unwrap();
    let fields: Vec<u64> = (0..8).map(|index| guest.u64(OUT + index * 8)).collect();
    let [device, inode, kind, links, size, times @ ..] = &fields[..] else { panic!() };
    assert_eq!((*device, *kind, *links, *size), (1, 4, 1, 6));
    assert!(*inode > 0);
    assert_eq!(times, [MOUNT_TIME; 3]);
}

#[test]
fn rights_tell_a_c_library_what_can_be_written() {
    let mut guest = Guest::live();
    let fdstat = |guest: &mut Guest, fd| {
        guest.call("fd_fdstat_get", &[fd, OUT.into()]).unwrap();
        let head = guest.bytes(OUT, 4);
        (head[0], u16::from_le_bytes([head[2], head[3]]), guest.u64(OUT + 8), guest.u64(OUT + 16))
    };
    let (kind, _, _, read_only) = fdstat(&mut guest, 3);
    let (_, _, _, workspace) = fdstat(&mut guest, 4);
    assert_eq!(kind, 3);
    assert_eq!((read_only & WRITE, workspace & WRITE), (0, WRITE));
    // The rights that a C library asks for when it opens a file there to write: all that are
    // inherited.
    let opened = guest.open(3, "skills/s/file00", 0, read_only);
    assert_eq!(opened, Err(number(Errno::ReadOnly)));
    // And when it is opened to read only.
    let reading = read_only & !layout::rights::INTENDS_CHANGES;
    let fd = guest.open(3, "skills/s/file00", 0, reading).unwrap();
    let (kind, _, base, _) = fdstat(&mut guest, fd);
    assert_eq!((kind, base & (READ | WRITE)), (4, READ));
    let fd = guest.open(4, "new", CREATE, workspace).unwrap();
    assert_eq!(fdstat(&mut guest, fd).2 & (READ | WRITE), READ | WRITE);
    guest.call("fd_fdstat_set_flags", &[fd, 1 | 4]).unwrap();
    assert_eq!(fdstat(&mut guest, fd).1, 1 | 4);
    guest.call("fd_fdstat_set_flags", &[fd, 0]).unwrap();
    assert_eq!(fdstat(&mut guest, fd).1, 0);
    // Not a terminal: a character device with the right to seek.
    let (kind, _, base, _) = fdstat(&mut guest, 1);
    assert_eq!((kind, base & (1 << 2 | 1 << 5) != 0), (2, true));
}

#[test]
fn preopened_folders_are_found_by_the_search_of_a_c_library() {
    let mut guest = Guest::live();
    let mut found = Vec::new();
    for fd in 3.. {
        match guest.call("fd_prestat_get", &[fd, OUT.into()]) {
            Err(errno) => {
                assert_eq!(errno, number(Errno::BadDescriptor));
                break;
            }
            Ok(()) => {
                assert_eq!(guest.u32(OUT), 0, "a folder");
                let len = guest.u32(OUT + 4);
                let short = guest.call("fd_prestat_dir_name", &[fd, 0x6000, u64::from(len) - 1]);
                assert_eq!(short, Err(number(Errno::NameTooLong)));
                guest.call("fd_prestat_dir_name", &[fd, 0x6000, len.into()]).unwrap();
                found.push(String::from_utf8(guest.bytes(0x6000, len as usize)).unwrap());
            }
        }
    }
    assert_eq!(found, ["/", "/workspace", "/tmp"]);
}

/// Lists a folder as the C library does: continues from the last whole entry when one is cut.
fn list(guest: &mut Guest, fd: u64, size: u32) -> Vec<String> {
    let (mut names, mut cookie) = (Vec::new(), 0);
    loop {
        guest.call("fd_readdir", &[fd, 0x6000, size.into(), cookie, OUT.into()]).unwrap();
        let used = guest.u32(OUT);
        assert!(used <= size);
        let mut at = 0;
        while used - at >= 24 {
            let name_length = guest.u32(0x6000 + at + 16);
            if used - at - 24 < name_length {
                break;
            }
            let name = guest.bytes(0x6000 + at + 24, name_length as usize);
            names.push(String::from_utf8(name).unwrap());
            assert!(guest.u64(0x6000 + at + 8) > 0, "no inode");
            cookie = guest.u64(0x6000 + at);
            at += 24 + name_length;
        }
        if used < size {
            return names;
        }
        assert!(at > 0, "a buffer of {size} never gets further");
    }
}

#[test]
fn folders_list_completely_whatever_the_size_of_the_buffer() {
    let mut guest = Guest::live();
    let expected: Vec<String> = (0..40).map(|number| format!("file{number:02}")).collect();
    for name in &expected {
        guest.open(4, name, CREATE, WRITE).unwrap();
    }
    for path in ["workspace", "skills/s"] {
        let fd = guest.open(3, path, 2, layout::rights::FD_READDIR).unwrap();
        for size in [31, 40, 62, 63, 64, 100, 1000, 4096] {
            let names = list(&mut guest, fd, size);
            assert_eq!(
                (&names[..2], &names[2..]),
                (&[".".to_owned(), "..".to_owned()][..], &expected[..]),
                "{path} {size}"
            );
        }
    }
}

#[test]
fn paths_are_made_moved_and_removed() {
    let mut guest = Guest::live();
    let [start, len] = guest.path(0, "folder");
    guest.call("path_create_directory", &[4, start, len]).unwrap();
    assert_eq!(guest.call("path_create_directory", &[4, start, len]), Err(number(Errno::Exists)));
    guest.open(4, "folder/a", CREATE, WRITE).unwrap();
    let [old, old_len] = guest.path(0, "folder/a");
    let [new, new_len] = guest.path(1, "b");
    guest.call("path_rename", &[4, old, old_len, 4, new, new_len]).unwrap();
    guest.call("path_link", &[4, 0, new, new_len, 4, old, old_len]).unwrap();
    guest.call("path_unlink_file", &[4, old, old_len]).unwrap();
    guest.call("path_symlink", &[new, new_len, 4, old, old_len]).unwrap();
    guest.call("path_readlink", &[4, old, old_len, 0x6000, 9, OUT.into()]).unwrap();
    assert_eq!((guest.u32(OUT), guest.bytes(0x6000, 1)), (1, b"b".into()));
    guest.call("path_filestat_set_times", &[4, 0, new, new_len, 5, 6, 1 | 4]).unwrap();
    guest.call("path_filestat_get", &[4, 0, new, new_len, OUT.into()]).unwrap();
    assert_eq!((guest.u64(OUT + 40), guest.u64(OUT + 48)), (5, 6));
    let both = guest.call("path_filestat_set_times", &[4, 0, new, new_len, 5, 6, 3]);
    assert_eq!(both, Err(number(Errno::Invalid)));
    let unknown = guest.call("path_filestat_set_times", &[4, 0, new, new_len, 5, 6, 16]);
    assert_eq!(unknown, Err(number(Errno::Invalid)));
    guest.call("path_unlink_file", &[4, old, old_len]).unwrap();
    let [start, len] = guest.path(0, "folder");
    guest.call("path_remove_directory", &[4, start, len]).unwrap();
    let [start, len] = guest.path(0, "skills/s/file00");
    assert_eq!(guest.call("path_unlink_file", &[3, start, len]), Err(number(Errno::ReadOnly)));
    guest.put(PATHS, &[0xc3, 0x28]);
    let unlinked = guest.call("path_unlink_file", &[4, PATHS.into(), 2]);
    assert_eq!(unlinked, Err(number(Errno::IllegalSequence)));
}
