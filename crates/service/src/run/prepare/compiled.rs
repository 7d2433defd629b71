//! The bytecode that all runs of a skill's owner share: made once, and tried again after a failure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tracing::debug;

use wardian_dispatch::{DispatchError, SkillContent};
use wardian_vocabulary::clock::backoff::Backoff;
use wardian_vocabulary::error::CauseChain;

/// The pause after a first failure, and after a compilation that was not begun. Each further failure
/// doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);

/// The bytecode of a skill; `None` inside if its compiler has ended and returned none.
///
/// A compilation that did not end does not say anything about the skill: its worker was lost, the
/// pool was full, the machine was slow. So it is tried again, after a pause that grows, since the
/// source may be the reason after all.
#[derive(Debug, Default)]
pub(crate) struct CompiledSkill {
    bytecode: OnceCell<Option<Arc<SkillContent>>>,
    failures: Mutex<Failures>,
}

#[derive(Debug)]
struct Failures {
    /// The end of the pause after the last one.
    until: Option<Instant>,
    /// The pauses after compilations that were begun and failed.
    backoff: Backoff,
}

impl Default for Failures {
    fn default() -> Self {
        Self { until: None, backoff: Backoff::doubling(FIRST_PAUSE, LONGEST_PAUSE) }
    }
}

/// The reason why there is no bytecode yet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotCompiled {
    /// The compilation was not begun.
    #[error("it was not started")]
    NotBegun(#[from] DispatchError),
    /// It did not end with a result.
    #[error("it failed")]
    Failed,
    /// It failed a moment ago.
    #[error("it failed a moment ago")]
    Paused,
}

impl CompiledSkill {
    /// The bytecode. If there is none yet, `compile` makes it; others wait for it meanwhile. `None`
    /// if it cannot be made, or not now.
    pub(crate) async fn get_or_compile<F>(
        &self,
        now: Instant,
        compile: impl FnOnce() -> F,
    ) -> Option<Arc<SkillContent>>
    where
        F: Future<Output = Result<Option<Arc<SkillContent>>, NotCompiled>>,
    {
        let attempt = || async {
            if self.failures.lock().until.is_some_and(|until| now < until) {
                return Err(NotCompiled::Paused);
            }
            let compiled = compile().await;
            compiled.inspect_err(|error| self.failures.lock().note(error, now.max(Instant::now())))
        };
        match self.bytecode.get_or_try_init(attempt).await {
            Ok(bytecode) => bytecode.clone(),
            Err(error) => {
                debug!("a skill was not compiled: {}", CauseChain(&error));
                None
            }
        }
    }
}

impl Failures {
    fn note(&mut self, error: &NotCompiled, now: Instant) {
        let pause = match error {
            // The pool was busy, which does not say anything about the skill.
            NotCompiled::NotBegun(_) | NotCompiled::Paused => FIRST_PAUSE,
            NotCompiled::Failed => self.backoff.pause(),
        };
        self.until = Some(now + pause);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use wardian_formats::job::attachment::Owner;
    use wardian_vocabulary::ids::Digest;

    fn bytecode() -> Arc<SkillContent> {
        Arc::new(SkillContent::new(Owner::Shared, Digest::of(b""), Vec::new(), Arc::from([])))
    }

    #[tokio::test]
    async fn a_compilation_that_failed_is_tried_again_after_a_growing_pause() {
        let (skill, tried) = (CompiledSkill::default(), AtomicUsize::new(0));
        let fail = || async {
            tried.fetch_add(1, Ordering::Relaxed);
            Err(NotCompiled::Failed)
        };
        // Ahead of the clock, which continues while the test runs.
        let (mut now, mut pause) = (Instant::now() + LONGEST_PAUSE, FIRST_PAUSE);
        for _ in 0..20 {
            let busy = || async { Err(DispatchError::NoWorker.into()) };
            assert!(skill.get_or_compile(now, busy).await.is_none());
            now += FIRST_PAUSE;
        }
        for attempts in 1..20 {
            for early in [Duration::ZERO, pause / 2, pause - Duration::from_millis(1)] {
                assert!(skill.get_or_compile(now + early, fail).await.is_none());
                assert_eq!(tried.load(Ordering::Relaxed), attempts);
            }
            now += pause;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        let made = skill.get_or_compile(now, || async { Ok(Some(bytecode())) }).await;
        assert_eq!(made.unwrap().digest(), bytecode().digest());
        assert!(skill.get_or_compile(now + pause, fail).await.is_some());
        assert_eq!(tried.load(Ordering::Relaxed), 19);
    }

    #[tokio::test]
    async fn a_compiler_that_returned_nothing_is_not_asked_again() {
        let skill = CompiledSkill::default();
        assert!(skill.get_or_compile(Instant::now(), || async { Ok(None) }).await.is_none());
        assert!(
            skill.get_or_compile(Instant::now(), || async { Ok(Some(bytecode())) }).await.is_none()
        );
    }

    #[tokio::test]
    async fn a_caller_that_leaves_lets_the_next_one_compile() {
        let skill = CompiledSkill::default();
        let never = skill.get_or_compile(Instant::now(), std::future::pending);
        let left = tokio::time::timeout(Duration::from_millis(10), never).await;
        assert!(left.is_err());
        assert!(
            skill.get_or_compile(Instant::now(), || async { Ok(Some(bytecode())) }).await.is_some()
        );
    }
}
