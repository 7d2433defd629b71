//! Profiles for tests.

use wardian_formats::job::profile::{FuelProfile, ProfiledCall, ProfiledFunction};
use wardian_vocabulary::units::Fuel;

/// A stack, the outermost function first, with its fuel and its samples. A function has a name, a
/// file and a line.
type Stack<'text> = (&'text [(&'text str, &'text str, u32)], u64, u64);

/// A profile of stacks.
pub(crate) fn profile(stacks: &[Stack<'_>]) -> FuelProfile {
    let (mut functions, mut calls) = (Vec::new(), Vec::<ProfiledCall>::new());
    for (stack, fuel, samples) in stacks {
        let mut caller = None;
        for (name, file, line) in *stack {
            let one = ProfiledFunction {
                name: (*name).to_owned(),
                file: (*file).to_owned(),
                line: *line,
            };
            let function = functions.iter().position(|known| *known == one);
            let function = function.unwrap_or_else(|| {
                functions.push(one);
                functions.len() - 1
            });
            let known = |call: &ProfiledCall| (call.caller, call.function) == (caller, function);
            let at = calls.iter().position(known).unwrap_or_else(|| {
                calls.push(ProfiledCall { caller, function, fuel: Fuel(0), samples: 0 });
                calls.len() - 1
            });
            caller = Some(at);
        }
        let call = &mut calls[caller.unwrap()];
        call.fuel.0 += fuel;
        call.samples += samples;
    }
    FuelProfile { interval: Fuel(100), functions, calls }
}

pub(crate) const MODULE: (&str, &str, u32) = ("<module>", "main.py", 1);
pub(crate) const WORK: (&str, &str, u32) = ("Table.work", "main.py", 7);
pub(crate) const LOADS: (&str, &str, u32) =
    ("loads", "/usr/local/lib/python315.zip/json/__init__.py", 299);
