//! The hostile corpus: programs that attack a real server. Each run must end exactly as the first
//! line of its program states, and must not affect the server or other runs.
//!
//! The programs are in `tests/fixtures/hostile`, whose README explains how they state their ends.
//! Six conditions are checked for each: the server is alive, another client gets the right answers
//! meanwhile, memory, handles and folders are as before, and no secret has leaked.
#![expect(dead_code, unused_imports, reason = "the support serves other tests too")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::needless_pass_by_value,
    clippy::panic_in_result_fn,
    reason = "a test may panic; that is how it fails"
)]

mod attack;
mod canary;
mod end;
mod siege;
#[path = "../it/support/mod.rs"]
mod support;
mod traces;

use std::io::Write as _;

use serde_json::json;

use crate::attack::Attack;
use crate::siege::{Images, Siege};

/// The least number of programs, so that the corpus cannot shrink unnoticed.
const CORPUS: usize = 160;

/// Number of breaches after which the test stops, because each may cost a long wait.
const ENOUGH: usize = 12;

/// No program of the corpus may need more runs than this.
const MOST_RUNS: u32 = 10;

#[test]
fn every_attack_ends_as_it_says_and_leaves_nothing_behind() {
    let (report, breaches) = endure(&Siege::begin(), &Attack::all());
    // Written directly to the stream, so that the figure is shown for a passing test too.
    writeln!(std::io::stderr(), "{report}").unwrap();
    assert!(breaches.is_empty(), "{} breaches:\n{}", breaches.len(), breaches.join("\n"));
}

#[test]
fn every_attack_ends_as_it_says_with_images_by_need_as_well() {
    let siege = Siege::begin_with(Images::ByNeed);
    let (before, _) = siege.begun();
    let (report, breaches) = endure(&siege, &Attack::all());
    writeln!(std::io::stderr(), "{report}").unwrap();
    assert!(breaches.is_empty(), "{} breaches:\n{}", breaches.len(), breaches.join("\n"));
    // The neighbour's runs begin as the base image, and so do those that may have little memory.
    let (now, base) = siege.begun();
    assert!(now - before >= CORPUS * 9 / 10, "only {} runs, and {base} others", now - before);
}

/// The least number of programs that must be stopped because of their time.
const ENDLESS: usize = 40;

/// The interruption matters only for programs that do not end by themselves. So the native code with
/// epochs is compiled once more, and the rest of the corpus is not run again.
#[test]
fn every_endless_attack_is_stopped_by_epochs_as_well() {
    let attacks = Attack::all().into_iter().filter(|attack| attack.end.is_timeout());
    let attacks: Vec<_> = attacks.collect();
    assert!(attacks.len() >= ENDLESS, "only {} attacks have no end", attacks.len());
    let (report, breaches) = endure(&Siege::begin_with_epochs(), &attacks);
    writeln!(std::io::stderr(), "{report}").unwrap();
    assert!(breaches.is_empty(), "{} breaches:\n{}", breaches.len(), breaches.join("\n"));
}

/// Runs these attacks. Returns how late runs were stopped, and the breaches.
fn endure(siege: &Siege, attacks: &[Attack]) -> (String, Vec<String>) {
    let mut breaches = Vec::new();
    for attack in attacks {
        breaches.extend(siege.endure(attack));
        if breaches.len() >= ENOUGH {
            break;
        }
    }
    (format!("{} attacks; {}", attacks.len(), siege.overshoots().report()), breaches)
}

#[test]
fn the_corpus_is_complete_and_says_how_it_ends() {
    let attacks = Attack::all();
    assert!(attacks.len() >= CORPUS, "only {} attacks are left", attacks.len());
    for attack in attacks {
        assert!((1..=MOST_RUNS).contains(&attack.runs), "{}", attack.name);
        let second = attack.source.lines().find(|line| !line.starts_with('#')).unwrap();
        assert!(second.starts_with("\"\"\""), "{} does not say what it does", attack.name);
    }
}

#[test]
fn an_attack_that_gets_through_is_noticed() {
    let siege = Siege::begin();
    let body = "\"\"\"Harmless.\"\"\"\ndef main(args):\n    return {\"breaches\": [\"all\"]}\n";
    let told = |header: &str| {
        let attack = Attack::parse("invented", &format!("{header}\n{body}")).unwrap();
        siege.endure(&attack).join("\n")
    };
    assert_eq!(told("# ends: completed {\"breaches\": [\"all\"]}"), "");
    for (header, complaint) in [
        ("# ends: completed {\"breaches\": []}", "output"),
        ("# ends: completed {\"breaches\": [\"all\"], \"tried\": 1}", "output"),
        ("# ends: failed Timeout: late", "completed"),
        ("# ends: completed differing\n# runs: 2", "repeats"),
        ("# ends: completed {\"breaches\": [\"all\"]}\n# blobs: 1", "output_blobs"),
        ("# ends: completed {\"breaches\": [\"all\"]}\n# logs: cut", "logs_truncated"),
    ] {
        assert!(told(header).contains(complaint), "{header}: {:?}", told(header));
    }
}

#[test]
fn a_leaked_secret_is_noticed() {
    let siege = Siege::begin();
    let id = siege.canaries().blob_id();
    let content = siege.client().call("read_blob", json!({"blob_id": id})).unwrap();
    assert!(!siege.canaries().leaks_in(&content.to_string()).is_empty(), "it is in the store");
    let environment = std::fs::read(format!("/proc/{}/environ", siege.server_id())).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(!siege.canaries().leaks_in(&environment).is_empty(), "it is in the environment");
}
