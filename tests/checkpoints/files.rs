//! Files that the host writes and reads between two turns.

use std::sync::Arc;

use crate::workshop::{Forgetful, Parked, setup, turn, with_sandboxes};
use wardian_formats::job::session::files::{FilesAnswer, FilesOrder, FilesPage, FilesRefusal};
use wardian_sandbox::{Sandbox, Stopwatch};
use wardian_vocabulary::ids::WorkspacePath;

/// Gives an order, and returns the answer and whether the guest can go on.
fn order(
    parked: &mut Parked,
    sandbox: &Sandbox,
    (order, content): (&FilesOrder, &[u8]),
) -> (FilesAnswer, bool) {
    let guest = parked.guest.as_mut().unwrap();
    let end = sandbox.files(guest, (order, content), &mut Forgetful, Stopwatch::start()).unwrap();
    assert_eq!(end.outcome.end, Ok(()));
    (FilesAnswer::read(&end.output, order).unwrap(), end.can_go_on)
}

fn write_of(path: &str) -> FilesOrder {
    FilesOrder::Write { path: WorkspacePath::parse(path).unwrap() }
}

fn listed(parked: &mut Parked, sandbox: &Sandbox) -> Vec<String> {
    let page = FilesPage { limit: 10, ..FilesPage::default() };
    let (answer, _) = order(parked, sandbox, (&FilesOrder::List(page), b""));
    match answer {
        FilesAnswer::Listed(listed) => listed.files.into_iter().map(|file| file.path).collect(),
        other => panic!("it is no list: {other:?}"),
    }
}

#[test]
fn nothing_runs_when_the_host_writes_a_file_that_the_next_program_reads() {
    with_sandboxes(|[here, there]| {
        let mut parked = Parked::open(here, &Arc::new(setup()));
        let before = parked.memory().to_vec();
        let (answer, can_go_on) = order(&mut parked, here, (&write_of("data/in.csv"), b"a,b\n"));
        assert_eq!((answer, can_go_on), (FilesAnswer::Written { replaced: false }, true));
        assert!(parked.memory() == before, "an instruction was executed");
        parked.checkpoint(here);
        parked.lose(here);

        parked.resume(there);
        assert_eq!(listed(&mut parked, there), ["data", "data/in.csv"]);
        let read = turn("open('out', 'w').write('made')", "open('data/in.csv').read()", None);
        assert_eq!(parked.run(there, &read), "'a,b\\n'");
        assert_eq!(listed(&mut parked, there), ["data", "data/in.csv", "out"]);
        let found = order(&mut parked, there, (&FilesOrder::Read { path: "out".to_owned() }, b""));
        assert!(matches!(found, (FilesAnswer::Read { .. }, true)), "{found:?}");
        parked.checkpoint(there);
        let (answer, _) = order(&mut parked, there, (&write_of("data/in.csv"), &[b'x'; 9_000]));
        assert_eq!(answer, FilesAnswer::Written { replaced: true });
        assert!(!parked.checkpoint(there).is_whole(), "only what changed is packed");
        parked.lose(there);

        parked.resume(here);
        let value = "len(open('data/in.csv').read()), open('out').read()";
        assert_eq!(parked.run(here, &turn("", value, None)), "(9000, 'made')");
        let none = FilesOrder::Remove { path: "none".to_owned() };
        let root = parked.checkpoint(here).root;
        let before = parked.memory().to_vec();
        let refused = (FilesAnswer::Refused(FilesRefusal::NotFound), true);
        assert_eq!(order(&mut parked, here, (&none, b"")), refused);
        assert!(parked.memory() == before && parked.checkpoint(here).root == root);
        parked.lose(here);
    });
}
