//! Runs units whose results are not kept, and some of the others to compare.

use crate::assembly::Runtime;
use crate::cli::commands::test::cache::ResultCache;
use crate::cli::commands::test::ingredients::Ingredients;
use crate::cli::commands::test::plan::TestSession;
use crate::cli::commands::test::report::outcomes::{TestEnd, TestReport, UnitReport};
use crate::cli::commands::test::run_unit::run_unit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;
use wardian_config::Config;
use wardian_vocabulary::clock::Clock;

/// The kept results of a command.
#[derive(Debug)]
pub(crate) struct KeptResults {
    cache: ResultCache,
    ingredients: Ingredients,
    /// Chooses the results to compare, so that each command compares others.
    turn: u128,
}

impl KeptResults {
    pub(crate) fn of(
        config: &Config,
        runtime: &Runtime,
        session: &TestSession,
    ) -> Result<Self, Failed> {
        let ingredients = Ingredients::of_all(config, runtime, session)?;
        let cache = ResultCache::new(&config.cache_dir);
        if let Some(key) = ingredients.key_of_bytecode() {
            session.bytecode.keep_in(cache.folder(), key);
        }
        Ok(Self { cache, ingredients, turn: Clock::System.now().as_nanos() })
    }

    /// The result of a unit: the kept one, or a new one, which is kept.
    pub(crate) async fn run(
        &self,
        runtime: &Runtime,
        session: &TestSession,
        number: usize,
    ) -> Result<UnitReport, Failed> {
        let unit = session.plan.units.get(number);
        let Some(key) = unit.and_then(|unit| self.ingredients.key(session, unit)) else {
            return run_unit(runtime, session, number).await;
        };
        let found = self.cache.find(&key);
        if let Some(found) = &found
            && !self.is_verified(session.verify, number)
        {
            return Ok(found.clone());
        }
        let new = run_unit(runtime, session, number).await?;
        if let Some(found) = found.filter(|found| !found.is_same(&new)) {
            self.cache.forget(&key);
            return Ok(other_than_kept(&found, &new));
        }
        if let Err(fault) = self.cache.keep(&key, &new) {
            note(&format!("warning: a result cannot be stored in the cache folder: {fault}"));
        }
        Ok(new)
    }

    /// True for `percent` of the numbers, other ones each time.
    fn is_verified(&self, percent: u8, number: usize) -> bool {
        let number = u128::try_from(number).unwrap_or_default();
        // Neighbours are chosen apart from each other: 61 has no divisor in common with 100.
        let place = number.wrapping_mul(61).wrapping_add(self.turn) % 100;
        place < u128::from(percent)
    }

    /// Keeps the cache within its bounds.
    pub(crate) fn tidy(&self) {
        if let Err(fault) = self.cache.tidy() {
            note(&format!("warning: old results cannot be removed: {fault}"));
        }
    }
}

/// The report about a kept result that is not what a new execution gives.
fn other_than_kept(found: &UnitReport, new: &UnitReport) -> UnitReport {
    let message = "the cached result differs from that of a new execution, which must never \
        happen: it was discarded";
    let fuel = |unit: &UnitReport| unit.fuel.map_or("none".to_owned(), |fuel| fuel.to_string());
    let details = format!("fuel then: {}\nfuel now: {}", fuel(found), fuel(new));
    let mut test = TestReport::new(&new.suite, TestEnd::Error, message, &details);
    test.file = new.tests.first().map(|test| test.file.clone()).unwrap_or_default();
    let mut report = new.clone();
    report.tests.insert(0, test);
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_of_the_results_is_compared() {
        let folder = tempfile::tempdir().unwrap();
        for (percent, turn) in [(0, 5), (7, 12_345), (50, 1), (100, 99)] {
            let kept = KeptResults {
                cache: ResultCache::new(folder.path()),
                ingredients: Ingredients::default(),
                turn,
            };
            let chosen = (0..1_000).filter(|number| kept.is_verified(percent, *number)).count();
            assert_eq!(chosen, usize::from(percent) * 10);
        }
    }
}
