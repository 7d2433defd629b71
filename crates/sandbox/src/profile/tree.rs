//! Gathers samples: the fuel of each function, by the calls that led to it.

use std::collections::HashMap;

use wardian_formats::job::profile::{
    COLLECTOR, FuelProfile, LEFT_OUT, OTHER, ProfiledCall, ProfiledFunction, RUNNER, START, UNKNOWN,
};
use wardian_vocabulary::units::Fuel;

/// Bytes of all names, as JSON writes them. A profile of the largest names, calls and functions is
/// shorter than [`FuelProfile::MAX_TEXT`].
const MAX_NAMES: usize = 256 << 10;

/// A function of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FunctionIndex(usize);

impl FunctionIndex {
    pub(super) const START: Self = Self(0);
    pub(super) const RUNNER: Self = Self(1);
    pub(super) const OTHER: Self = Self(2);
    pub(crate) const UNKNOWN: Self = Self(3);
    pub(crate) const LEFT_OUT: Self = Self(4);
    pub(crate) const COLLECTOR: Self = Self(5);
}

/// The functions that are in every tree.
const FIXED: [&str; 6] = [START, RUNNER, OTHER, UNKNOWN, LEFT_OUT, COLLECTOR];

/// The calls and functions that samples have met, of which there are not many.
#[derive(Debug)]
pub(crate) struct CallTree {
    functions: Vec<ProfiledFunction>,
    by_function: HashMap<ProfiledFunction, FunctionIndex>,
    calls: Vec<ProfiledCall>,
    by_call: HashMap<(Option<usize>, FunctionIndex), usize>,
    names: usize,
}

impl CallTree {
    pub(super) fn new() -> Self {
        let fixed =
            |name: &str| ProfiledFunction { name: name.to_owned(), file: String::new(), line: 0 };
        Self {
            functions: FIXED.map(fixed).to_vec(),
            by_function: HashMap::new(),
            calls: Vec::new(),
            by_call: HashMap::new(),
            names: 0,
        }
    }

    /// The place of a function; [`FunctionIndex::OTHER`] if there is no room for another one.
    pub(super) fn function(&mut self, function: ProfiledFunction) -> FunctionIndex {
        if let Some(known) = self.by_function.get(&function) {
            return *known;
        }
        let names = written(&function.name).saturating_add(written(&function.file));
        let names = self.names.saturating_add(names);
        if names > MAX_NAMES || self.functions.len() >= FuelProfile::MAX_FUNCTIONS {
            return FunctionIndex::OTHER;
        }
        self.names = names;
        let index = FunctionIndex(self.functions.len());
        self.functions.push(function.clone());
        self.by_function.insert(function, index);
        index
    }

    /// Counts a sample with this much fuel for a stack, whose outermost function comes first.
    pub(super) fn count(&mut self, stack: &[FunctionIndex], fuel: Fuel) {
        let mut inwards = stack.iter();
        let found = inwards.try_fold(None, |caller, one| self.call(caller, *one).map(Some));
        let call = found.flatten().or_else(|| self.call(None, FunctionIndex::OTHER));
        if let Some(call) = call.and_then(|at| self.calls.get_mut(at)) {
            call.fuel = Fuel(call.fuel.0.saturating_add(fuel.0));
            call.samples = call.samples.saturating_add(1);
        }
    }

    /// The place of a call; `None` if there is no room for another one.
    fn call(&mut self, caller: Option<usize>, function: FunctionIndex) -> Option<usize> {
        if let Some(known) = self.by_call.get(&(caller, function)) {
            return Some(*known);
        }
        // The last place is for all that has none.
        let is_last = self.calls.len() >= FuelProfile::MAX_CALLS.saturating_sub(1);
        if is_last && (caller, function) != (None, FunctionIndex::OTHER) {
            return None;
        }
        let place = self.calls.len();
        let function_at = function.0;
        self.calls.push(ProfiledCall { caller, function: function_at, fuel: Fuel(0), samples: 0 });
        self.by_call.insert((caller, function), place);
        Some(place)
    }

    pub(crate) fn into_profile(self, interval: Fuel) -> FuelProfile {
        FuelProfile { interval, functions: self.functions, calls: self.calls }
    }
}

/// The length of a name as JSON writes it. Names have no control characters.
fn written(name: &str) -> usize {
    let escaped = name.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    name.len().saturating_add(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::job::profile::ProfileText;

    fn function(name: String) -> ProfiledFunction {
        ProfiledFunction { name, file: "main.py".to_owned(), line: u32::MAX }
    }

    #[test]
    fn equal_stacks_are_one_call_and_recursion_is_a_call_of_its_own() {
        let mut tree = CallTree::new();
        let [one, two] = ["one", "two"].map(|name| tree.function(function(name.to_owned())));
        assert_eq!(tree.function(function("one".to_owned())), one);
        for (stack, fuel) in
            [(&[one, two][..], 5), (&[one, two], 6), (&[one], 7), (&[one, one], 8), (&[], 9)]
        {
            tree.count(stack, Fuel(fuel));
        }
        let profile = tree.into_profile(Fuel(1));
        let calls: Vec<_> =
            profile.calls.iter().map(|call| (call.caller, call.fuel.0, call.samples)).collect();
        let expected = [(None, 7, 1), (Some(0), 11, 2), (Some(0), 8, 1), (None, 9, 1)];
        assert_eq!(calls, expected);
        assert_eq!((profile.fuel(), profile.samples()), (Fuel(35), 5));
    }

    #[test]
    fn a_profile_of_too_much_counts_the_rest_as_other_and_stays_short() {
        let mut tree = CallTree::new();
        for number in 0..30_000_u64 {
            let name = format!("{number:0>20}") + &"\"\\é".repeat(20);
            let (name, other) =
                (tree.function(function(name)), tree.function(function("f".into())));
            let deep = if number % 2 == 0 { vec![other, name] } else { vec![name, other, other] };
            tree.count(&deep, Fuel(u64::MAX / 40_000));
        }
        let profile = tree.into_profile(Fuel(u64::MAX));
        assert_eq!(profile.fuel(), Fuel(u64::MAX / 40_000 * 30_000), "nothing is lost");
        assert_eq!(profile.samples(), 30_000);
        assert!(profile.calls.len() <= FuelProfile::MAX_CALLS);
        let other =
            profile.calls.iter().filter(|call| profile.functions[call.function].name == OTHER);
        assert!(other.map(|call| call.samples).sum::<u64>() > 1_000);
        let text = ProfileText::of(&profile).unwrap();
        assert_eq!(text.read().unwrap(), profile);
    }

    /// The largest profile: as many calls and functions as fit, with the largest numbers.
    #[test]
    fn the_longest_profile_fits_into_its_limit() {
        let mut tree = CallTree::new();
        let mut stack = Vec::new();
        for number in 0..FuelProfile::MAX_FUNCTIONS {
            stack.push(tree.function(function(format!("{number:\">60}"))));
        }
        for round in 0..4 {
            stack.rotate_left(round);
            tree.count(&stack, Fuel(1));
        }
        let mut profile = tree.into_profile(Fuel(u64::MAX));
        assert_eq!(profile.calls.len(), FuelProfile::MAX_CALLS);
        for call in &mut profile.calls {
            (call.fuel, call.samples) = (Fuel(u64::MAX), u64::MAX / 1_000_000_000);
        }
        let length = ProfileText::of(&profile).unwrap().as_str().len();
        assert!(length <= FuelProfile::MAX_TEXT, "{length}");
        assert!(length > FuelProfile::MAX_TEXT / 2, "{length}: is it the largest?");
    }
}
