//! The sessions that ended lately. What a call brings of one of them after its end is not kept.

use std::collections::{HashSet, VecDeque};

use wardian_vocabulary::ids::SessionId;

/// Sessions that are remembered at most. Ids are never used again.
const MOST: usize = 1_024;

/// The sessions that ended last.
#[derive(Debug, Default)]
pub(crate) struct EndedSessions {
    ids: HashSet<SessionId>,
    order: VecDeque<SessionId>,
}

impl EndedSessions {
    /// Notes the end of a session.
    pub(crate) fn note(&mut self, session: &SessionId) {
        if !self.ids.insert(session.clone()) {
            return;
        }
        self.order.push_back(session.clone());
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }

    /// True if the session ended lately.
    pub(crate) fn has(&self, session: &SessionId) -> bool {
        self.ids.contains(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_remembered() {
        let session =
            |number: usize| SessionId::of_random(&u128::try_from(number).unwrap().to_le_bytes());
        let mut ended = EndedSessions::default();
        ended.note(&session(0));
        for number in 0..=MOST {
            ended.note(&session(number));
        }
        assert!(!ended.has(&session(0)) && (1..=MOST).all(|number| ended.has(&session(number))));
        assert_eq!((ended.ids.len(), ended.order.len()), (MOST, MOST));
    }
}
