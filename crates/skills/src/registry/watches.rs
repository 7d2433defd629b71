//! The places that the kernel's watches stand for.
//!
//! The kernel has one watch for a folder, however many paths lead to it. Two roots can have a folder
//! in common, for example through a link, and a change in it then concerns both.

use std::collections::HashMap;

use crate::registry::folders::notices::WatchId;
use crate::registry::queue::QueuedLook;

/// The places of each watch.
#[derive(Debug, Default)]
pub(crate) struct WatchedPlaces(HashMap<WatchId, Vec<QueuedLook>>);

impl WatchedPlaces {
    /// Number of watches.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn add(&mut self, watch: WatchId, place: QueuedLook) {
        let places = self.0.entry(watch).or_default();
        if !places.contains(&place) {
            places.push(place);
        }
    }

    /// The places that a change concerns.
    pub(super) fn of(&self, watch: WatchId) -> &[QueuedLook] {
        self.0.get(&watch).map(Vec::as_slice).unwrap_or_default()
    }

    /// Removes a watch that has ended. Returns its places.
    pub(super) fn end(&mut self, watch: WatchId) -> Vec<QueuedLook> {
        self.0.remove(&watch).unwrap_or_default()
    }

    /// Removes a place of a watch. Returns true if the watch stands for no other.
    pub(super) fn leave(&mut self, watch: WatchId, place: &QueuedLook) -> bool {
        let Some(places) = self.0.get_mut(&watch) else { return false };
        let before = places.len();
        places.retain(|other| other != place);
        let is_last = places.is_empty() && before > 0;
        if is_last {
            self.0.remove(&watch);
        }
        is_last
    }
}
