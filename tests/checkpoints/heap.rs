//! Memory that programs have freed, in packs.

use std::sync::Arc;

use crate::workshop::{Parked, difference, setup, turn, with_sandboxes};
use wardian_vocabulary::units::ByteCount;

/// Statements that make some 40 MB without a pattern, and others that delete it.
const LARGE: [(&str, &str); 4] = [
    ("import random; large = bytearray(random.Random(1).randbytes(40 << 20))", "del large"),
    ("import numpy as np; large = np.random.default_rng(1).random(5 << 20)", "del large"),
    (
        "import random; large = [random.Random(n).randbytes(100_000) for n in range(400)]",
        "large.clear()",
    ),
    (
        "import numpy as np, pandas as pd; large = pd.DataFrame(np.random.default_rng(1).random((500_000, 10)))",
        "del large",
    ),
];

#[test]
fn freed_memory_is_not_in_packs() {
    with_sandboxes(|[sandbox, elsewhere]| {
        for (make, delete) in LARGE {
            let mut guest = Parked::open(sandbox, &Arc::new(setup()));
            guest.run(sandbox, &turn("import numpy, pandas, random", "1", None));
            let small = guest.checkpoint(sandbox).size.as_u64() + (3 << 20);
            guest.run(sandbox, &turn(make, "1", None));
            let with = guest.checkpoint(sandbox).size;
            assert!(with > ByteCount::mebibytes(30), "{make}: {with}");
            guest.run(sandbox, &turn(delete, "1", None));
            let without = guest.checkpoint(sandbox);
            // A chain whose first pack has it is begun anew.
            assert!(without.is_whole(), "{make}");
            assert!(without.size.as_u64() < small, "{make}: {without:?}");
            // And so when it was made and deleted at once.
            guest.run(sandbox, &turn(&format!("{make}\n{delete}"), "1", None));
            let again = guest.checkpoint(sandbox);
            assert!(again.size.as_u64() < small, "{make}: {again:?}");
            guest.lose(sandbox);
            guest.resume(elsewhere);
            let again = turn(make, "len(large)", None);
            assert!(guest.run(elsewhere, &again).parse::<usize>().unwrap() >= 400, "{make}");
            guest.lose(elsewhere);
        }
    });
}

/// Programs that see much of their interpreter.
const STEPS: &[&str] = &[
    "import gc, sys; kept = [bytearray(n << 10) for n in range(300)]",
    "del kept[::2]",
    "kept.append({n: str(n) for n in range(200_000)})",
    "del kept[-1]; import numpy as np",
    "arrays = [np.arange(n << 13) for n in range(1, 40)]",
    "del arrays[::3]",
    "again = [np.zeros(n << 13) for n in range(1, 40)]",
    "del again, arrays",
    "kept.clear()",
];

const SEEN: &str = "gc.get_count(), [one['collections'] for one in gc.get_stats()], \
    sys.getallocatedblocks(), id([]), id(bytearray(1 << 20)), id(bytearray(9 << 20))";

/// Compared are guests that have parked. One that never has still has what its calls left on its stack, and
/// NumPy reads some of that before it writes it.
#[test]
fn parked_unchanged_as_the_interpreter_sees_itself() {
    with_sandboxes(|[sandbox, elsewhere]| {
        let setup = Arc::new(setup());
        let mut kept = Parked::open(sandbox, &setup);
        let mut resumed = Parked::open(elsewhere, &setup);
        for step in STEPS {
            let turn = turn(step, SEEN, None);
            let expected = kept.run(sandbox, &turn);
            assert_eq!(resumed.run(elsewhere, &turn), expected, "{step}");
            kept.checkpoint(sandbox);
            let twin = kept.memory().to_vec();
            kept.checkpoint(sandbox);
            assert_eq!(difference(&twin, kept.memory()), None, "nothing more is left out");
            resumed.checkpoint(elsewhere);
            resumed.lose(elsewhere);
            resumed.resume(elsewhere);
        }
        let turn = turn("last = bytearray(5 << 20)", SEEN, None);
        assert_eq!(resumed.run(elsewhere, &turn), kept.run(sandbox, &turn));
        resumed.lose(elsewhere);
        kept.lose(sandbox);
    });
}
