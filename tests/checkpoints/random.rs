//! Random orders of turns, checkpoints, losses and resumptions.

use std::sync::Arc;

use proptest::prelude::*;

use crate::workshop::{Parked, difference, setup, turn, with_sandboxes};
use wardian_formats::job::Turn;

#[derive(Debug, Clone)]
enum Step {
    /// A turn with one of the programs below, and a number for it.
    Turn(usize, u32),
    Checkpoint,
    /// The guest is lost, resumed from its last checkpoint in the other sandbox, and has the turns
    /// since then again.
    Lose,
    /// The next pack is a whole one.
    Begin,
}

/// What programs do with memory and files; `n` is a number.
const PROGRAMS: &[&str] = &[
    "kept = globals().setdefault('kept', {}); kept[n] = [n] * (n * 3)",
    "globals().setdefault('kept', {}).clear()",
    "large = bytearray(b'x' * (n << 14))",
    "globals().pop('large', None)",
    "import numpy as np; array = np.arange(n * 1000.) + n",
    "import numpy as np; arrays = globals().setdefault('arrays', {}); arrays[n % 6] = np.arange(n << 13) * n",
    "globals().get('arrays', {}).pop(n % 6, None)",
    "blocks = globals().setdefault('blocks', []); blocks.extend(bytearray(b'z' * (n << 9)) for _ in range(40))",
    "del globals().setdefault('blocks', [])[::2 + n % 3]",
    "import os; files = globals().setdefault('files', [])\nfiles.append(os.open(f'f{n % 7}', os.O_RDWR | os.O_CREAT)); os.write(files[-1], b'y' * n * 100)",
    "import os; files = globals().get('files')\nif files: os.lseek(files[n % len(files)], n, 0); os.ftruncate(files[n % len(files)], n * 37)",
    "import os; files = globals().get('files')\nif files: os.close(files.pop(n % len(files)))",
    "import os; files = globals().get('files')\nif files: files.append(os.dup(files[n % len(files)]))",
    "import os; os.path.exists(f'f{n % 7}') and os.unlink(f'f{n % 7}')",
    "import os; os.makedirs(f'd{n % 3}/e{n % 2}', exist_ok=True); os.path.exists(f'f{n % 7}') and os.rename(f'f{n % 7}', f'd{n % 3}/f{n % 5}')",
    "step = globals().get('step') or iter(range(1000)); last = next(step)",
    "import random; value = random.random(); import time; at = time.monotonic()",
    "def deep(d): return d if d == 0 else deep(d - 1) + 1\ndeep(n * 10)",
    "raise ValueError(n)",
];

const VALUE: &str =
    "sorted((k, str(v)[:40]) for k, v in globals().items() if k[0] != '_' and not callable(v))";

fn program((number, n): (usize, u32)) -> Turn {
    turn(&format!("n = {n}\n{}", PROGRAMS[number]), VALUE, None)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..PROGRAMS.len(), 0..60_u32).prop_map(|(program, n)| Step::Turn(program, n)),
        4 => Just(Step::Checkpoint),
        3 => Just(Step::Lose),
        1 => Just(Step::Begin),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 40, ..ProptestConfig::with_cases(24) })]
    #[test]
    fn parked_unchanged_in_any_order_of_steps(steps in prop::collection::vec(step(), 1..40)) {
        with_sandboxes(|sandboxes| {
            let setup = Arc::new(setup());
            let mut original = Parked::open(&mut sandboxes[0], &setup);
            let (mut parked, mut place) = (Parked::open(&mut sandboxes[1], &setup), 1);
            let mut since = Vec::new();
            for step in &steps {
                match step {
                    Step::Turn(number, n) => {
                        let turn = program((*number, *n));
                        let expected = original.run(&sandboxes[0], &turn);
                        assert_eq!(parked.run(&sandboxes[place], &turn), expected, "{step:?}");
                        since.push(turn);
                    }
                    Step::Checkpoint => {
                        let one = original.checkpoint(&sandboxes[0]);
                        let other = parked.checkpoint(&sandboxes[place]);
                        assert_eq!(one.root, other.root);
                        assert_eq!(difference(original.memory(), parked.memory()), None);
                        since.clear();
                    }
                    Step::Lose if parked.packs.is_empty() => {}
                    Step::Lose => {
                        parked.lose(&sandboxes[place]);
                        place = 1 - place;
                        parked.resume(&mut sandboxes[place]);
                        for turn in &since {
                            parked.run(&sandboxes[place], turn);
                        }
                    }
                    Step::Begin => parked.guest.as_mut().unwrap().begin_chain(),
                }
            }
            let one = original.checkpoint(&sandboxes[0]);
            assert_eq!(one.root, parked.checkpoint(&sandboxes[place]).root);
            assert_eq!(difference(original.memory(), parked.memory()), None);
            original.lose(&sandboxes[0]);
            parked.lose(&sandboxes[place]);
        });
    }
}
