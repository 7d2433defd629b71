//! The skills under `tests/fixtures/skills`: all good ones are served, and the findings of every
//! bad one are exactly those in its file `.expected`.

use std::fs;
use std::path::PathBuf;

use crate::registry::check_folder;
use crate::registry::tests::{open, rejected, served};

fn fixtures(below: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../tests/fixtures/skills", below].iter().collect()
}

#[test]
fn good_skills_are_served_without_findings() {
    let index = open(&[&fixtures("good")]).unwrap().current();
    assert_eq!(rejected(&index), Vec::<String>::new());
    assert_eq!(
        served(&index),
        [
            "hello.world 0.2.0",
            "hello.world 0.1.0",
            "pdf-forms 1.2.0",
            "practices.salesforce 1.0.0",
            "salesforce.leads.sync 0.1.0"
        ]
    );
    for snapshot in index.snapshots() {
        assert_eq!(snapshot.warnings(), [], "{}", snapshot.name());
    }
}

#[test]
fn bad_skills_have_the_expected_findings() {
    let index = open(&[&fixtures("bad")]).unwrap().current();
    assert_eq!(served(&index), Vec::<String>::new());
    assert_eq!(index.rejected().len(), fs::read_dir(fixtures("bad")).unwrap().count());
    for bad in index.rejected() {
        let expected = fixtures("bad").join(&bad.folder).join(".expected");
        let found: String = bad.diagnostics.iter().map(|one| format!("{one}\n")).collect();
        assert_eq!(found, fs::read_to_string(expected).unwrap(), "{}", bad.folder);
    }
}

#[test]
fn a_report_shows_the_lines_of_its_findings() {
    let check = check_folder(&fixtures("bad/no.entrypoint")).unwrap();
    assert!(check.snapshot.is_none());
    let mut shown = String::new();
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let handler = miette::GraphicalReportHandler::new_themed(theme);
    handler.render_report(&mut shown, check.reports()[0].as_ref()).unwrap();
    insta::assert_snapshot!(shown.trim_end(), @r#"
    entrypoint-missing

      × the skill has no file `code/main.py`
       ╭─[skill.toml:8:14]
     7 │ language = "python"
     8 │ entrypoint = "code/main.py"
       ·              ──────────────
     9 │ export = "main"
       ╰────
      help: did you mean `code/mian.py`?
    "#);
    assert!(check_folder(&fixtures("good/hello.world")).unwrap().snapshot.is_some());
    assert!(check_folder(&fixtures("nowhere")).is_err());
}
