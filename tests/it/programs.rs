//! The programs in `tests/fixtures/programs`. Each states its expected end.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::support::{Client, TestServer, failed, matches, output, repository};

/// Longer than any of them takes, with all processors busy.
const PATIENCE_MS: u64 = 60_000;

/// One test for each program; a program that is not listed here fails a test as well.
macro_rules! programs {
    ($($folder:literal: $($name:ident)+;)+) => {
        $($(
            #[test]
            fn $name() {
                check(concat!($folder, "/", stringify!($name), ".py"));
            }
        )+)+

        #[test]
        fn every_program_has_a_test() {
            let listed = [$($(concat!($folder, "/", stringify!($name), ".py")),+),+];
            let listed: BTreeSet<_> = listed.map(str::to_owned).into_iter().collect();
            assert_eq!(listed, programs_on_disk());
        }
    };
}

programs! {
    "children":
        asyncio_starts_children
        children_end_in_every_way
        command_lines_are_executed
        packages_are_shared_and_put_back
        scripts_run_as_programs;
    "files":
        a_path_cannot_leave_the_workspace
        archives_are_written_and_read
        changes_have_times_of_their_own
        csv_and_json_are_written_and_read
        descriptors_are_duplicated
        devices_are_there
        files_are_locked_within_a_program
        files_are_written_and_read
        folders_are_made_listed_walked_and_removed
        mounts_cannot_be_changed
        pathlib_works
        paths_are_as_on_linux
        permission_bits_are_kept
        sqlite_connections_share_a_file
        sqlite_keeps_a_database_in_a_file
        stat_says_what_a_file_is
        tempfile_and_shutil_work;
    "isolation":
        nothing_of_the_host_is_seen
        there_are_no_processes_and_threads
        there_is_no_network;
    "native":
        data_that_is_too_deep_is_refused
        json_is_read_by_jiter
        json_is_written_and_read_by_orjson
        messages_are_packed_and_read
        models_validate_and_serialise
        persistent_collections_of_rpds
        random_bytes_are_read_or_refused
        ten_thousand_models;
    "packages":
        counts_never_wrap
        documents_are_read
        figures_are_drawn
        large_random_numbers_are_those_of_linux
        pandas_reads_what_it_wrote
        pictures_are_written_and_read
        positions_never_overflow_silently
        scientific_packages_compute
        times_and_zones_are_known
        workbooks_are_written_and_read;
    "platform":
        error_numbers_are_those_of_linux
        input_clocks_and_descriptors_are_as_on_linux
        keys_are_derived
        limits_may_be_as_large_as_maxsize
        modules_are_imported_again
        names_fail_as_without_a_network
        only_the_locales_of_c_are_there
        users_and_machine_are_those_of_a_container;
}

fn programs_on_disk() -> BTreeSet<String> {
    let root = repository("tests/fixtures/programs");
    let folders = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
    let files = folders
        .filter(|path| path.is_dir())
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    files.map(|file| file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned()).collect()
}

/// Runs a program, and compares its end with what it says of it.
fn check(program: &str) {
    let source = fs::read_to_string(repository("tests/fixtures/programs").join(program)).unwrap();
    let client = TestServer::shared().client();
    let header = |name: &str| {
        let prefix = format!("# {name}: ");
        source.lines().find_map(|line| line.strip_prefix(&prefix)).map(str::to_owned)
    };
    let as_json = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let limits = header("limits").map_or(json!({"timeout_ms": PATIENCE_MS}), as_json);

    let result = client.run_with(&source, json!({"limits": limits}));

    let expected = header("expect").unwrap();
    match expected.split_once(' ').unwrap() {
        ("completed", wanted) => {
            matches(output(&result), &as_json(wanted.to_owned())).unwrap();
        }
        ("failed", wanted) => assert_eq!(failed(&result).0, wanted, "{result:#}"),
        other => panic!("an expectation that nobody knows: {other:?}"),
    }
    for (member, kind) in header("blobs").map_or(json!({}), as_json).as_object().unwrap() {
        check_blob(&client, result["output"][member].as_str().unwrap(), kind.as_str().unwrap());
    }
}

/// Checks that a blob is what its kind says.
fn check_blob(client: &Client, id: &str, kind: &str) {
    let read = client.call("read_blob", json!({"blob_id": id})).unwrap();
    assert_eq!(read["kind"], kind);
    let bytes = client.read_bytes(id);
    let (start, end): (&[u8], &[u8]) = match kind {
        "image/png" => (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"IEND\xaeB`\x82"),
        "image/svg+xml" => (b"<?xml", b"</svg>\n"),
        "application/pdf" => (b"%PDF-", b"%%EOF\n"),
        "application/vnd.sqlite3" => (b"SQLite format 3\0", b""),
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => (b"PK\x03\x04", b""),
        other => panic!("nobody knows what a blob of kind {other} looks like"),
    };
    assert!(bytes.starts_with(start) && bytes.ends_with(end), "{kind}: {bytes:.20?}");
}
