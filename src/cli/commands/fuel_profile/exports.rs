//! Profiles for other programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::cli::commands::fuel_profile::sums::{by_function, callers};
use wardian_formats::job::profile::{FuelProfile, ProfiledFunction};

/// One line for each stack: its functions, separated by semicolons, and its fuel. Scripts for flame
/// graphs read this form.
pub(crate) fn folded(profile: &FuelProfile) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (stack, call) in stacks(profile) {
        let functions = stack.iter().filter_map(|at| profile.functions.get(*at)).map(folded_name);
        let mut line = functions.collect::<Vec<_>>().join(";");
        // Writing to a string cannot fail.
        writeln!(line, " {}", call.0).ok();
        lines.push(line);
    }
    lines.sort();
    lines.concat()
}

/// A function in a folded stack, where semicolons and ends of lines have a meaning.
fn folded_name(function: &ProfiledFunction) -> String {
    let ProfiledFunction { name, file, line } = function;
    let place = if file.is_empty() { String::new() } else { format!(" ({file}:{line})") };
    let harmless = |letter: char| if letter == ';' || letter.is_control() { '_' } else { letter };
    format!("{name}{place}").chars().map(harmless).collect()
}

/// The file format of speedscope, which other viewers read, too.
pub(crate) fn speedscope(profile: &FuelProfile, program: &str) -> Value {
    let frame = |one: &ProfiledFunction| match one.file.as_str() {
        "" => json!({"name": one.name}),
        file => json!({"name": one.name, "file": file, "line": one.line}),
    };
    let stacks = stacks(profile);
    let weights: Vec<u64> = stacks.iter().map(|(_, (fuel, _))| *fuel).collect();
    let samples: Vec<_> = stacks.into_iter().map(|(stack, _)| stack).collect();
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": program,
        "exporter": "wardian",
        "shared": {"frames": profile.functions.iter().map(frame).collect::<Vec<_>>()},
        "profiles": [{
            "type": "sampled",
            "name": format!("fuel of {program}"),
            "unit": "none",
            "startValue": 0,
            "endValue": profile.fuel().0,
            "samples": samples,
            "weights": weights,
        }],
    })
}

/// Everything: sums by function, and stacks of functions by their places in that list.
pub(crate) fn json(profile: &FuelProfile) -> Value {
    let sums = by_function(profile);
    let places: Vec<Option<usize>> = profile
        .functions
        .iter()
        .map(|one| sums.iter().position(|sum| std::ptr::eq(sum.function, one)))
        .collect();
    let functions = sums.iter().map(|sum| {
        let ProfiledFunction { name, file, line } = sum.function;
        json!({
            "name": name,
            "file": file,
            "line": line,
            "own_fuel": sum.own,
            "total_fuel": sum.total,
            "samples": sum.samples,
        })
    });
    let place = |at: &usize| places.get(*at).copied().flatten();
    let stacks = stacks(profile).into_iter().map(|(stack, (fuel, samples))| {
        let functions: Vec<_> = stack.iter().filter_map(place).collect();
        json!({"functions": functions, "fuel": fuel, "samples": samples})
    });
    json!({
        "fuel": profile.fuel().0,
        "samples": profile.samples(),
        "interval": profile.interval.0,
        "functions": functions.collect::<Vec<_>>(),
        "stacks": stacks.collect::<Vec<_>>(),
    })
}

/// The stacks that were met, the outermost function first, with their fuel and samples.
fn stacks(profile: &FuelProfile) -> Vec<(Vec<usize>, (u64, u64))> {
    let met = profile.calls.iter().enumerate().filter(|(_, call)| call.samples > 0);
    let stack = |at: usize| {
        let calls = [at].into_iter().chain(callers(profile, at));
        let mut stack: Vec<usize> =
            calls.filter_map(|at| profile.calls.get(at).map(|call| call.function)).collect();
        stack.reverse();
        stack
    };
    met.map(|(at, call)| (stack(at), (call.fuel.0, call.samples))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::fuel_profile::testing::{LOADS, MODULE, WORK, profile};

    fn example() -> FuelProfile {
        profile(&[
            (&[("(start of the run)", "", 0)], 100, 1),
            (&[MODULE, WORK], 300, 3),
            (&[MODULE, WORK, LOADS], 150, 2),
            (&[MODULE, ("a;b\nc 7", "x y", 0)], 1, 1),
        ])
    }

    #[test]
    fn a_folded_stack_is_a_line_whatever_its_names_are() {
        insta::assert_snapshot!(folded(&example()), @r"
        (start of the run) 100
        <module> (main.py:1);Table.work (main.py:7) 300
        <module> (main.py:1);Table.work (main.py:7);loads (/usr/local/lib/python315.zip/json/__init__.py:299) 150
        <module> (main.py:1);a_b_c 7 (x y:0) 1
        ");
    }

    #[test]
    fn json_has_the_sums_and_the_stacks() {
        let shown = json(&example());
        assert_eq!((&shown["fuel"], &shown["samples"]), (&json!(551), &json!(7)));
        assert_eq!(shown["functions"][0]["name"], "Table.work");
        assert_eq!(shown["functions"][0]["total_fuel"], 450);
        let stack = &shown["stacks"][2];
        let names = stack["functions"].as_array().unwrap().iter().map(|at| {
            let at = usize::try_from(at.as_u64().unwrap()).unwrap();
            shown["functions"][at]["name"].as_str().unwrap()
        });
        assert_eq!(names.collect::<Vec<_>>(), ["<module>", "Table.work", "loads"]);
        let sum: u64 =
            shown["stacks"].as_array().unwrap().iter().map(|s| s["fuel"].as_u64().unwrap()).sum();
        assert_eq!(sum, 551);
    }

    #[test]
    fn speedscope_has_a_weight_for_each_sample() {
        let shown = speedscope(&example(), "main.py");
        let profile = &shown["profiles"][0];
        assert_eq!(profile["samples"], json!([[0], [1, 2], [1, 2, 3], [1, 4]]));
        assert_eq!(profile["weights"], json!([100, 300, 150, 1]));
        assert_eq!(profile["endValue"], 551);
        assert_eq!(shown["shared"]["frames"][0], json!({"name": "(start of the run)"}));
    }
}
