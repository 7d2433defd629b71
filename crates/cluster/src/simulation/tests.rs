//! Ten thousand fleets, and faults that are put into the protocol to be found.

use crate::simulation::database::Planted;
use crate::simulation::world::{SimulatedFleet, Troubles};

const ALL: Troubles = Troubles {
    kills: true,
    pauses: true,
    outages: true,
    losses: true,
    drains: true,
    cancels: true,
    repeats: true,
};

/// Some of all troubles.
fn troubles(seed: u64) -> Troubles {
    if seed.is_multiple_of(4) {
        return ALL;
    }
    let has = |bit: u32| (seed >> 2 >> bit) & 1 == 1;
    Troubles {
        kills: has(0),
        pauses: has(1),
        outages: has(2),
        losses: has(3),
        drains: has(4),
        cancels: has(5),
        repeats: has(6),
    }
}

/// Few servers most of the time, and 64 at most.
fn servers(seed: u64) -> usize {
    let usual = 1 + usize::try_from(seed % 6).unwrap_or(0);
    match seed % 500 {
        0 => 64,
        1 => 24,
        _ => usual,
    }
}

fn live(seed: u64, planted: Planted) -> Result<u64, String> {
    SimulatedFleet::new(seed, servers(seed), troubles(seed), planted).live()
}

/// INVARIANT(executed-after-begin): no run is executed twice, each has one end, and none waits in vain.
#[test]
fn executed_after_begin() {
    for seed in 0..10_000 {
        live(seed, Planted::Nothing).unwrap();
    }
}

/// Runs are interrupted with their server alone: not when the database is away, whatever is lost on the way.
#[test]
fn a_database_that_is_away_interrupts_nothing() {
    let troubles = Troubles { outages: true, repeats: true, kills: false, pauses: false, ..ALL };
    let troubles = Troubles { losses: false, drains: false, ..troubles };
    for seed in 0..500 {
        let world = SimulatedFleet::new(seed, servers(seed), troubles, Planted::Nothing);
        assert_eq!(world.live().unwrap(), 0, "seed {seed}");
    }
}

/// A fault of the protocol is found, each by some of a few hundred fleets.
#[test]
fn planted_faults_are_found() {
    use Planted::{
        BeginKeepsTheOrder, BeginsWhatOthersClaimed, BegunRunsWaitAgain, CancelsWhatHasBegun,
        ClaimsAreNotReset, EndsWhatOthersHave, ExecutesWithoutAnswer, ForgetsUnansweredBegins,
        JoinKeepsTheEpoch, NeverChecksItsClaims, ReleasesBeforeTheEnd,
    };
    for planted in [
        BeginsWhatOthersClaimed,
        BeginKeepsTheOrder,
        EndsWhatOthersHave,
        BegunRunsWaitAgain,
        ClaimsAreNotReset,
        CancelsWhatHasBegun,
        JoinKeepsTheEpoch,
        ExecutesWithoutAnswer,
        ForgetsUnansweredBegins,
        NeverChecksItsClaims,
        ReleasesBeforeTheEnd,
    ] {
        let found = (0..30_000).find(|seed| live(*seed, planted).is_err());
        assert!(found.is_some(), "{planted:?} is not found");
    }
    let troubles = Troubles { outages: true, kills: false, pauses: false, ..ALL };
    let troubles = Troubles { losses: false, drains: false, repeats: false, ..troubles };
    for planted in [Planted::JudgesAtOnce, Planted::JudgesTheLiving] {
        let found = (0..2_000).find(|seed| {
            SimulatedFleet::new(*seed, servers(*seed), troubles, planted)
                .live()
                .is_ok_and(|lost| lost > 0)
        });
        assert!(found.is_some(), "{planted:?} is not found");
    }
}
