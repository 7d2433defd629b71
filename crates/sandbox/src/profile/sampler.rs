//! Takes the samples of one run.

use std::collections::HashMap;

use crate::profile::layout::{MemoryView, PythonLayout};
use crate::profile::names::{KnownFunction, RawFunction};
use crate::profile::stack::{PythonStack, StackPart};
use crate::profile::tree::{CallTree, FunctionIndex};
use wardian_formats::job::profile::{FuelProfile, FunctionOrigin, ProfileOrder};
use wardian_vocabulary::units::Fuel;

/// Most code objects whose names are remembered.
const MAX_KNOWN: usize = 4_096;

/// Takes the samples of one run.
#[derive(Debug)]
pub(crate) struct Sampler {
    order: ProfileOrder,
    /// None if the interpreter is not known: then every stack is.
    layout: Option<PythonLayout>,
    stack: PythonStack,
    /// The stack as functions, the outermost first.
    path: Vec<FunctionIndex>,
    known: HashMap<u32, Known>,
    tree: CallTree,
    /// True from the first call of the program on.
    has_begun: bool,
    /// Fuel of the samples so far.
    counted: Fuel,
}

/// A code object that was met.
#[derive(Debug)]
struct Known {
    names: KnownFunction,
    index: FunctionIndex,
    origin: FunctionOrigin,
}

impl Sampler {
    /// Begins to profile a run whose memory is still that of its image.
    pub(crate) fn new(order: ProfileOrder, image: &[u8]) -> Self {
        Self {
            order,
            layout: PythonLayout::find(image),
            stack: PythonStack::default(),
            path: Vec::new(),
            known: HashMap::new(),
            tree: CallTree::new(),
            has_begun: false,
            counted: Fuel(0),
        }
    }

    /// Takes a sample of a guest that has used this much fuel. The fuel since the last sample counts
    /// for the functions that are active now.
    pub(crate) fn sample(&mut self, memory: &[u8], used: Fuel) {
        let fuel = Fuel(used.0.saturating_sub(self.counted.0));
        if fuel.0 == 0 {
            return;
        }
        self.counted = used;
        self.read_path(MemoryView(memory));
        self.tree.count(&self.path, fuel);
    }

    /// Takes the last sample, of the memory as the guest has left it.
    pub(crate) fn finish(mut self, memory: &[u8], used: Fuel) -> FuelProfile {
        self.sample(memory, used);
        self.tree.into_profile(self.order.interval)
    }

    /// Reads the stack as functions. The runner's calls around the program are left out.
    fn read_path(&mut self, memory: MemoryView<'_>) {
        self.path.clear();
        let mut stack = std::mem::take(&mut self.stack);
        let layout = self.layout.take();
        match layout.as_ref().filter(|layout| stack.read(layout, memory).is_some()) {
            Some(layout) => self.read_calls(layout, &stack, memory),
            None => self.path.push(FunctionIndex::UNKNOWN),
        }
        (self.stack, self.layout) = (stack, layout);
    }

    fn read_calls(&mut self, layout: &PythonLayout, stack: &PythonStack, memory: MemoryView<'_>) {
        let mut is_of_program = self.has_begun;
        for part in stack.parts() {
            let (index, origin) = match part {
                StackPart::LeftOut => (FunctionIndex::LEFT_OUT, FunctionOrigin::NoFunction),
                StackPart::Call(code) => self.function(layout, memory, code),
            };
            if origin == FunctionOrigin::InitFrame {
                continue;
            }
            is_of_program |= origin == FunctionOrigin::Program;
            if !self.path.is_empty() || origin != FunctionOrigin::Runner {
                self.path.push(index);
            }
        }
        // Before its program the runner calls the library, too.
        if !is_of_program {
            self.path.clear();
        }
        let had_begun = std::mem::replace(&mut self.has_begun, is_of_program);
        if self.path.is_empty() {
            let own = if had_begun { FunctionIndex::RUNNER } else { FunctionIndex::START };
            self.path.push(own);
        } else if stack.is_collecting {
            self.path.push(FunctionIndex::COLLECTOR);
        }
    }

    /// The function of a code object.
    fn function(
        &mut self,
        layout: &PythonLayout,
        memory: MemoryView<'_>,
        code: u32,
    ) -> (FunctionIndex, FunctionOrigin) {
        let Some(raw) = RawFunction::read(layout, memory, code) else {
            return (FunctionIndex::UNKNOWN, FunctionOrigin::NoFunction);
        };
        if let Some(known) = self.known.get(&code).filter(|known| known.names.is(&raw)) {
            return (known.index, known.origin);
        }
        let function = raw.to_function();
        let origin = function.origin();
        let index = self.tree.function(function);
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let names = KnownFunction::of(&raw);
        self.known.insert(code, Known { names, index, origin });
        (index, origin)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::*;
    use crate::profile::names::MAX_LETTERS;
    use crate::profile::stack::{MAX_FOLLOWED, MAX_FRAMES};
    use crate::profile::testing::FakePython;
    use wardian_formats::job::profile::{
        COLLECTOR, LEFT_OUT, ProfiledCall, RUNNER, START, UNKNOWN,
    };

    const ORDER: ProfileOrder = ProfileOrder { interval: Fuel(100) };

    /// Each stack that was met, the outermost function first, with its fuel.
    fn stacks(profile: &FuelProfile) -> Vec<(String, u64)> {
        let met = profile.calls.iter().filter(|call| call.samples > 0);
        let stack = |call| {
            let inwards = std::iter::successors(Some(call), |call: &&ProfiledCall| {
                call.caller.map(|caller| &profile.calls[caller])
            });
            let mut names: Vec<_> =
                inwards.map(|call| profile.functions[call.function].name.as_str()).collect();
            names.reverse();
            names.join(";")
        };
        met.map(|call| (stack(call), call.fuel.0)).collect()
    }

    fn expected(stacks: &[(&str, u64)]) -> Vec<(String, u64)> {
        stacks.iter().map(|(stack, fuel)| ((*stack).to_owned(), *fuel)).collect()
    }

    #[test]
    fn fuel_counts_for_the_calls_that_are_active_and_the_runner_is_one_line() {
        let mut python = FakePython::new();
        let mut sampler = Sampler::new(ORDER, &python.memory);
        let runner = python.code("run", "<wardian>/runner.py", 1);
        let loader = python.code("_find", "<frozen importlib._bootstrap>", 1);
        let json = python.code("loads", "/usr/local/lib/python315.zip/json/__init__.py", 9);
        let quick = python.code("__init__", "__init__", 1);
        let module = python.code("<module>", "main.py", 1);
        let work = python.code("Größe.rechne", "main.py", 4);
        let letters = python.code("语言.𝛑", "main.py", 5);
        for (calls, is_collecting) in [
            (&[][..], false),
            (&[runner, json], false),
            (&[runner, quick, json], false),
            (&[runner, runner, module], false),
            (&[runner, module, loader, runner], false),
            (&[runner, quick, module, quick, work, letters], false),
            (&[runner, module, work, work], true),
            (&[runner, loader, runner], true),
            (&[runner, json], false),
        ] {
            python.call(calls);
            python.collect(is_collecting);
            sampler.sample(&python.memory, Fuel(sampler.counted.0 + 100));
        }
        let profile = sampler.finish(&python.memory, Fuel(907));
        assert_eq!(profile.fuel(), Fuel(907));
        assert_eq!(
            stacks(&profile),
            expected(&[
                (START, 300),
                ("<module>", 100),
                ("<module>;_find;run", 100),
                ("<module>;Größe.rechne;语言.𝛑", 100),
                (&format!("<module>;Größe.rechne;Größe.rechne;{COLLECTOR}"), 100),
                (RUNNER, 100),
                ("loads", 107),
            ])
        );
        let work = profile.functions.iter().find(|one| one.name == "Größe.rechne").unwrap();
        assert_eq!((work.file.as_str(), work.line), ("main.py", 4));
    }

    #[test]
    fn code_at_the_address_of_other_code_is_told_apart() {
        let mut python = FakePython::new();
        let mut sampler = Sampler::new(ORDER, &python.memory);
        let code = python.code("first", "main.py", 1);
        python.call(&[code]);
        sampler.sample(&python.memory, Fuel(10));
        let name = python.text("other");
        python.write(code + 0x58, name);
        let profile = sampler.finish(&python.memory, Fuel(30));
        assert_eq!(stacks(&profile), expected(&[("first", 10), ("other", 20)]));
    }

    #[test]
    fn generators_and_frames_of_the_interpreter_are_told_apart() {
        let mut python = FakePython::new();
        let sampler = Sampler::new(ORDER, &python.memory);
        let (module, one) = (python.code("<module>", "main.py", 1), python.code("g", "main.py", 2));
        let mut frame = 0;
        for (code, owner) in [(0, 4), (module, 0), (0, 3), (one, 1), (one, 2), (0, 0)] {
            frame = python.frame(code, owner, frame);
        }
        python.enter(frame);
        let profile = sampler.finish(&python.memory, Fuel(7));
        assert_eq!(stacks(&profile), expected(&[("<module>;g;g", 7)]));
    }

    #[test]
    fn a_deep_stack_keeps_both_ends_and_says_so() {
        let mut python = FakePython::new();
        let [outer, middle, inner] =
            ["outer", "middle", "inner"].map(|name| python.code(name, "main.py", 1));
        let deep = |depth: usize| [vec![outer], vec![middle; depth - 2], vec![inner]].concat();
        for (depth, is_cut) in [(MAX_FRAMES, false), (MAX_FRAMES + 1, true), (4_000, true)] {
            let mut python = python.clone();
            python.call(&deep(depth));
            let sampler = Sampler::new(ORDER, &python.memory);
            let found = stacks(&sampler.finish(&python.memory, Fuel(7)));
            let stack: Vec<_> = found[0].0.split(';').collect();
            assert_eq!(stack.len(), MAX_FRAMES + usize::from(is_cut));
            assert_eq!((stack[0], *stack.last().unwrap()), ("outer", "inner"));
            let cuts = stack.iter().filter(|name| **name == LEFT_OUT).count();
            assert_eq!(cuts, usize::from(is_cut), "{depth}");
        }
        // The outermost calls of this stack are not looked for.
        python.call(&deep(MAX_FOLLOWED + 9));
        let found = stacks(&Sampler::new(ORDER, &python.memory).finish(&python.memory, Fuel(7)));
        assert!(found[0].0.starts_with(&format!("{LEFT_OUT};middle;")), "{found:?}");
    }

    /// A change of the memory in which a frame lies at an address.
    type Change<'code> = &'code dyn Fn(&mut FakePython, u32);

    #[test]
    fn hostile_stacks_end_and_read_nothing_outside() {
        let mut python = FakePython::new();
        let code = python.code("f", "main.py", 1);
        let end = u32::try_from(python.memory.len()).unwrap();
        let long = python.text(&"\u{1b}x".repeat(MAX_LETTERS));
        let changes: [Change<'_>; 9] = [
            &|python, frame| python.write(frame + 4, frame), // a circle
            &|python, frame| python.write(frame + 4, u32::MAX),
            &|python, frame| python.write(frame, u32::MAX),
            &|python, frame| python.write(frame, end - 2),
            &|python, _| python.write(code + 0x58, 7),
            &|python, _| python.write(code + 0x58, u32::MAX - 8),
            &|python, _| python.enter(u32::MAX - 3),
            &|python, _| python.write(code + 0x2c, u32::MAX),
            &|python, _| python.write(code + 0x58, long),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut python = python.clone();
            let sampler = Sampler::new(ORDER, &python.memory);
            let base = python.frame(0, 3, 0);
            let frame = python.frame(code, 0, base);
            python.enter(frame);
            change(&mut python, frame);
            let profile = sampler.finish(&python.memory, Fuel(5));
            assert_eq!(profile.fuel(), Fuel(5), "{number}");
            let name =
                |one: &wardian_formats::job::profile::ProfiledFunction| one.name.chars().count();
            assert!(profile.functions.iter().all(|one| name(one) <= MAX_LETTERS + 1));
            assert!(!profile.functions.iter().any(|one| one.name.contains('\u{1b}')));
        }
        let nothing = Sampler::new(ORDER, &[0; 70_000]).finish(&[], Fuel(5));
        assert_eq!(stacks(&nothing), expected(&[(UNKNOWN, 5)]));
    }

    #[test]
    fn an_interpreter_of_another_version_is_not_guessed_at() {
        let mut python = FakePython::new();
        let code = python.code("f", "main.py", 1);
        python.call(&[code]);
        let table = python.memory.windows(8).position(|word| word == b"xdebugpy").unwrap();
        python.memory[table + 8] ^= 1;
        let found = stacks(&Sampler::new(ORDER, &python.memory).finish(&python.memory, Fuel(5)));
        assert_eq!(found, expected(&[(UNKNOWN, 5)]));
    }

    proptest! {
        /// Any bytes where an interpreter has its structures, and any words in these structures.
        #[test]
        fn hostile_stacks_of_random_bytes_are_counted(
            garbage in prop::collection::vec(any::<u8>(), 0..20_000),
            words in prop::collection::vec((0_u32..9_000, any::<u32>()), 0..200),
            near in prop::collection::vec((0_u32..2_000, 0_u32..40_000), 0..200),
        ) {
            let mut python = FakePython::new();
            let image = python.memory.clone();
            let code = python.code("f", "main.py", 1);
            python.call(&[code; 9]);
            python.memory.extend(garbage);
            let last = u32::try_from(python.memory.len()).unwrap() / 4;
            for (at, word) in words {
                python.write(at % last * 4, word);
            }
            for (at, word) in near {
                python.write((4_096 + at) % last * 4, word);
            }
            for image in [&image, &python.memory] {
                let mut sampler = Sampler::new(ORDER, image);
                sampler.sample(&python.memory, Fuel(3));
                let profile = sampler.finish(&python.memory, Fuel(8));
                assert_eq!((profile.fuel(), profile.samples()), (Fuel(8), 2));
            }
        }
    }
}
