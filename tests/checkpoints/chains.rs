//! Chains of packs, and those that are refused.

use std::sync::Arc;

use crate::workshop::{Parked, base, other, refusal, setup, turn, with_memory, with_sandboxes};
use wardian_formats::job::session::checkpoint::ChainError;
use wardian_sandbox::{PackError, SandboxError};
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

#[test]
fn a_guest_is_resumed_from_any_of_its_checkpoints() {
    with_sandboxes(|[sandbox, elsewhere]| {
        let setup = Arc::new(setup());
        let mut guest = Parked::open(sandbox, &setup);
        let mut memories = Vec::new();
        for number in 0..5 {
            let code = format!("x = {number}; open('file', 'a').write('{number}')");
            assert_eq!(guest.run(sandbox, &turn(&code, "x", None)), number.to_string());
            guest.checkpoint(sandbox);
            memories.push(guest.memory().to_vec());
        }
        let packs: Vec<&[u8]> = guest.packs.iter().map(Vec::as_slice).collect();
        for at in [4, 0, 2] {
            let mut fork = Parked::open(sandbox, &setup);
            fork.lose(sandbox);
            fork.guest = Some(elsewhere.resume(Arc::clone(&setup), &packs[..=at]).unwrap());
            assert!(fork.memory() == memories[at], "the memory of checkpoint {at}");
            let kept = fork.run(elsewhere, &turn("", "x, open('file').read()", None));
            let written: String = (0..=at).map(|number| number.to_string()).collect();
            assert_eq!(kept, format!("({at}, '{written}')"));
            // A fork goes on with a chain of its own, unless the one before is long enough.
            let facts = fork.checkpoint(elsewhere);
            assert!(facts.base == Some(guest.facts[at].digest) || at == 4 && facts.is_whole());
            assert_eq!(facts.sequence, guest.facts[at].sequence + 1);
            fork.lose(elsewhere);
        }
    });
}

#[test]
fn packs_that_are_no_chain_are_refused_by_name() {
    with_sandboxes(|[sandbox, _]| {
        let mut guest = Parked::open(sandbox, &Arc::new(setup()));
        for number in 0..3 {
            guest.run(sandbox, &turn(&format!("x = {number}"), "x", None));
            guest.checkpoint(sandbox);
        }
        let packs: Vec<&[u8]> = guest.packs.iter().map(Vec::as_slice).collect();
        let mut refused = |packs: &[&[u8]]| refusal(sandbox, setup(), packs);
        let chain = PackError::Chain;
        assert_eq!(refused(&[]), chain(ChainError::Empty));
        assert_eq!(refused(&packs[1..]), chain(ChainError::Missing { sequence: 2 }));
        let order = |sequence| chain(ChainError::Order { sequence });
        assert_eq!(refused(&[packs[0], packs[2]]), order(3));
        assert_eq!(refused(&[packs[0], packs[2], packs[1]]), order(3));
        assert_eq!(refused(&[packs[0], packs[0]]), order(1));
        for pack in 0..3 {
            for at in [0, 17, 100, packs[pack].len() / 2, packs[pack].len() - 1] {
                let mut damaged = packs[pack].to_vec();
                damaged[at] ^= 4;
                let mut chain = packs.clone();
                chain[pack] = &damaged;
                let refused = refused(&chain);
                let is_named = match at {
                    17 => matches!(refused, PackError::Chain(ChainError::Format { .. })),
                    _ => matches!(refused, PackError::Damaged { .. }),
                };
                assert!(is_named, "byte {at} of pack {pack}: {refused}");
            }
            let mut chain = packs.clone();
            chain[pack] = &packs[pack][..packs[pack].len() - 9];
            assert!(matches!(refused(&chain), PackError::Damaged { .. }));
        }
        guest.lose(sandbox);
        // None of it has cost the sandbox anything.
        let mut next = Parked::open(sandbox, &Arc::new(setup()));
        assert_eq!(next.run(sandbox, &turn("", "'x' in globals()", None)), "False");
        next.lose(sandbox);
    });
}

#[test]
fn a_pack_fits_its_image_and_its_order_alone() {
    with_sandboxes(|[sandbox, _]| {
        let mut guest = Parked::open(sandbox, &Arc::new(setup()));
        guest.run(sandbox, &turn("large = bytearray(90 << 20)", "1", None));
        guest.checkpoint(sandbox);
        guest.lose(sandbox);
        let packs: Vec<&[u8]> = guest.packs.iter().map(Vec::as_slice).collect();
        let image = wardian_formats::job::Setup { image: other(), ..setup() };
        let found = base();
        let refused = refusal(sandbox, image, &packs);
        assert_eq!(refused, PackError::Chain(ChainError::Image { found }));
        let tenant = TenantId::parse("other").unwrap();
        let foreign = wardian_formats::job::Setup { tenant, ..setup() };
        assert_eq!(refusal(sandbox, foreign, &packs), PackError::OtherGuest);
        let hides = wardian_formats::job::Setup { hides_modules: true, ..setup() };
        assert_eq!(refusal(sandbox, hides, &packs), PackError::OtherGuest);
        let small = with_memory(ByteCount::mebibytes(100));
        let refused = refusal(sandbox, small, &packs);
        assert!(matches!(refused, PackError::TooMuchMemory { .. }), "{refused}");
        let large = with_memory(ByteCount::mebibytes(600));
        guest.guest = Some(sandbox.resume(Arc::new(large), &packs).unwrap());
        assert_eq!(guest.run(sandbox, &turn("", "len(large)", None)), (90 << 20).to_string());
        guest.lose(sandbox);
    });
}

#[test]
fn a_guest_that_is_not_whole_has_no_checkpoint() {
    with_sandboxes(|[sandbox, _]| {
        let mut guest = Parked::open(sandbox, &Arc::new(setup()));
        let mut endless = turn("while True: pass", "1", None);
        endless.limits.wall_time = std::time::Duration::from_millis(300);
        guest.run(sandbox, &endless);
        let refused = sandbox.checkpoint(guest.guest.as_mut().unwrap()).unwrap_err();
        assert!(matches!(refused, SandboxError::Over), "{refused}");
        guest.lose(sandbox);
    });
}

#[test]
fn a_chain_can_be_begun_anew() {
    with_sandboxes(|[sandbox, _]| {
        let mut guest = Parked::open(sandbox, &Arc::new(setup()));
        guest.run(sandbox, &turn("x = 'kept'", "x", None));
        let first = guest.checkpoint(sandbox);
        guest.guest.as_mut().unwrap().begin_chain();
        let whole = guest.checkpoint(sandbox);
        assert!(whole.is_whole() && whole.sequence == 2);
        assert_eq!((whole.root, whole.pages), (first.root, first.pages));
        guest.lose(sandbox);
        guest.resume(sandbox);
        assert_eq!(guest.run(sandbox, &turn("", "x", None)), "'kept'");
        guest.lose(sandbox);
    });
}

#[test]
fn most_of_a_chain_is_alive() {
    with_sandboxes(|[sandbox, _]| {
        let mut guest = Parked::open(sandbox, &Arc::new(setup()));
        let (mut wholes, mut longest) = (0, 0);
        for number in 1..=9 {
            let code = format!("import random; x = random.Random({number}).randbytes(5 << 20)");
            guest.run(sandbox, &turn(&code, "1", None));
            wholes += u32::from(guest.checkpoint(sandbox).is_whole());
            let sizes: Vec<u64> = guest.facts.iter().map(|pack| pack.size.as_u64()).collect();
            assert!(sizes.iter().sum::<u64>() <= 2 * sizes[0] + (256 << 10), "{sizes:?}");
            longest = longest.max(sizes.len());
        }
        assert!((2..9).contains(&wholes) && longest > 1, "{wholes} whole ones, up to {longest}");
        guest.lose(sandbox);
        guest.resume(sandbox);
        let expected = "x == random.Random(9).randbytes(5 << 20)";
        assert_eq!(guest.run(sandbox, &turn("", expected, None)), "True");
        guest.lose(sandbox);
    });
}
