//! The images in memory that runs can begin as, and the loading and making of further ones.
//!
//! INVARIANT(always-an-image): picking never waits and never fails, because the base image is
//! always present.
//! INVARIANT(bounded-cache): images beyond the base and the operator's profiles take no more memory
//! and disk than the rules allow; the least recently used one is removed first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::attempts::FailedAttempts;
use crate::former::FormerImages;
use crate::image::{Image, ImageFault, ImageMaker, ImageRenewals, KeptImage, KeptImages};
use crate::package_set::PackageSet;
use crate::rules::{ImageRules, NotReproducible};
use wardian_formats::job::image::ImageContent;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// How often notes of use are written.
const NOTES_EVERY: Duration = Duration::from_secs(60);

/// The age of the secret counts in seconds.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// The report about a present image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CachedImage {
    /// Its name.
    pub name: String,
    /// Length of its memory.
    pub length: ByteCount,
    /// Memory that it takes.
    pub resident: ByteCount,
    /// Digest of its memory.
    pub digest: Digest,
    /// Runs that began as it since the start.
    pub hits: u64,
}

/// The images of a server. Dropping it ends the making of further ones.
pub struct ImageCache {
    pub(super) shared: Arc<SharedImages>,
}

pub(super) struct SharedImages {
    pub(super) kept: Box<dyn KeptImages>,
    pub(super) rules: ImageRules,
    pub(super) clock: Clock,
    pub(super) base: Mutex<Image>,
    pub(super) state: Mutex<ImageTable>,
    /// Held while an image of sessions is read.
    pub(super) loading: Mutex<()>,
    missed: Condvar,
    /// Wakes those that wait for an image: one is ready, or could not be made.
    pub(super) decided: watch::Sender<()>,
}

#[derive(Default)]
pub(super) struct ImageTable {
    /// Every image but the base.
    pub(super) ready: BTreeMap<PackageSet, Ready>,
    /// Those that sessions began as and new runs do not.
    pub(super) former: FormerImages,
    base_hits: u64,
    /// The images to make or load, in this order.
    wanted: VecDeque<PackageSet>,
    /// The image that is being made.
    pub(super) in_hand: Option<PackageSet>,
    /// The images that could not be made. Runs import their packages meanwhile.
    failed: FailedAttempts,
    /// The images that could not be renewed. They stay in use meanwhile.
    pub(super) not_renewed: FailedAttempts,
    /// Counts picks, to find the least recently used image.
    picks: u64,
    /// True once the cache is dropped; the thread that makes images then ends.
    pub(super) ends: bool,
    pub(super) renewals: ImageRenewals,
}

pub(super) struct Ready {
    pub(super) image: Image,
    hits: u64,
    /// Hits that are noted on the disk already.
    noted: u64,
    last_pick: u64,
}

impl ImageCache {
    /// A cache that has the base image alone and never makes another one.
    #[must_use]
    pub fn new(kept: Box<dyn KeptImages>, base: Image, rules: ImageRules) -> Self {
        let (state, loading) = <_>::default();
        let (clock, missed, base) = (Clock::System, Condvar::new(), Mutex::new(base));
        let decided = watch::Sender::new(());
        let shared = SharedImages { kept, rules, clock, base, state, loading, missed, decided };
        Self { shared: Arc::new(shared) }
    }

    /// Spawns a thread that loads the profiles and recently used images and then makes the images
    /// that runs miss.
    ///
    /// # Errors
    ///
    /// The operating system refuses the thread.
    pub fn start(&self, maker: Box<dyn ImageMaker>) -> std::io::Result<()> {
        let is_open = self.shared.rules.on_need;
        let recent = if is_open { self.shared.recently_used() } else { Vec::new() };
        let mut state = self.shared.state.lock();
        state.wanted.extend(self.shared.rules.profiles.iter().chain(&recent).copied());
        state.wanted.retain(|packages| *packages != PackageSet::NONE);
        drop(state);
        let shared = Arc::downgrade(&self.shared);
        thread::Builder::new().name("images".to_owned()).spawn(move || keep(&shared, &*maker))?;
        Ok(())
    }

    /// Picks the best present image for a run that needs `packages` and is limited to `memory`. If
    /// no image has all packages, one is ordered for later runs. No image with groups of
    /// `unsuitable` is picked or ordered.
    #[must_use]
    pub fn pick(
        &self,
        packages: PackageSet,
        unsuitable: PackageSet,
        memory: ByteCount,
    ) -> Arc<ImageContent> {
        let shared = &*self.shared;
        let mut state = shared.state.lock();
        let before = state.wanted.len();
        let wish = Wish { packages: packages.without(unsuitable), unsuitable, memory };
        let picked = state.pick(&shared.rules, wish, Instant::now()).map(Arc::clone);
        if state.wanted.len() > before {
            shared.missed.notify_one();
        }
        picked.unwrap_or_else(|| Arc::clone(&shared.base.lock().content))
    }

    /// The image of reproducible runs that import `packages`. If it does not exist, it is ordered.
    ///
    /// # Errors
    ///
    /// It is not ready yet, or cannot be made.
    pub fn reproducible(&self, packages: PackageSet) -> Result<Arc<ImageContent>, NotReproducible> {
        let shared = &*self.shared;
        let wanted = packages.reproducible();
        let found = shared.state.lock().reproducible(wanted, Instant::now());
        if found.is_err() {
            shared.missed.notify_one();
        }
        found
    }

    /// Loads the image for `packages` if it is on the disk and never makes one. A process that
    /// serves a single run calls this: loading costs less than the imports.
    ///
    /// # Errors
    ///
    /// The cache fails.
    pub fn load_if_made(&self, packages: PackageSet) -> Result<(), ImageFault> {
        if packages != PackageSet::NONE
            && let Some(image) = self.shared.kept.find(packages)?
        {
            self.shared.put(image);
        }
        Ok(())
    }

    /// The base image.
    #[must_use]
    pub fn base(&self) -> Arc<ImageContent> {
        Arc::clone(&self.shared.base.lock().content)
    }

    /// The present images, the base image first.
    #[must_use]
    pub fn report(&self) -> Vec<CachedImage> {
        let state = self.shared.state.lock();
        let base = report(&self.shared.base.lock(), state.base_hits);
        let others = state.ready.values().map(|ready| report(&ready.image, ready.hits));
        std::iter::once(base).chain(others).collect()
    }

    /// Counts the images that were rebuilt, and those that could not be.
    #[must_use]
    pub fn renewals(&self) -> ImageRenewals {
        self.shared.state.lock().renewals
    }

    /// Notes the uses of images on the disk.
    pub fn note_usage(&self) {
        self.shared.note_usage();
    }
}

impl fmt::Debug for ImageCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImageCache").field("rules", &self.shared.rules).finish_non_exhaustive()
    }
}

impl Drop for ImageCache {
    fn drop(&mut self) {
        self.shared.state.lock().ends = true;
        self.shared.missed.notify_one();
    }
}

fn report(image: &Image, hits: u64) -> CachedImage {
    let content = &image.content;
    CachedImage {
        name: image.packages.to_string(),
        length: content.length(),
        resident: image.resident,
        digest: content.digest(),
        hits,
    }
}

/// What a run asks of its image.
#[derive(Debug, Clone, Copy)]
struct Wish {
    packages: PackageSet,
    /// Groups that its image must not have.
    unsuitable: PackageSet,
    /// The memory of the run.
    memory: ByteCount,
}

impl Wish {
    /// True if a run may begin as an image with these packages.
    const fn allows(self, image: PackageSet) -> bool {
        !image.is_reproducible() && image.shared_with(self.unsuitable) == 0
    }
}

impl ImageTable {
    /// Returns the image for a run, or `None` for the base image. Orders an image if none has all
    /// `packages`.
    fn pick(&mut self, rules: &ImageRules, wish: Wish, now: Instant) -> Option<&Arc<ImageContent>> {
        self.picks = self.picks.saturating_add(1);
        let mut suitable = self.ready.keys().filter(|ready| wish.allows(**ready));
        if !suitable.any(|ready| ready.covers(wish.packages)) {
            self.want(rules, wish, now);
        }
        match self.best(wish) {
            Some(best) => {
                let ready = self.ready.get_mut(&best)?;
                ready.hits = ready.hits.saturating_add(1);
                ready.last_pick = self.picks;
                Some(&ready.image.content)
            }
            None => {
                self.base_hits = self.base_hits.saturating_add(1);
                None
            }
        }
    }

    /// An image of reproducible runs, which is ordered if it does not exist.
    fn reproducible(
        &mut self,
        wanted: PackageSet,
        now: Instant,
    ) -> Result<Arc<ImageContent>, NotReproducible> {
        self.picks = self.picks.saturating_add(1);
        if let Some(ready) = self.ready.get_mut(&wanted) {
            ready.hits = ready.hits.saturating_add(1);
            ready.last_pick = self.picks;
            return Ok(Arc::clone(&ready.image.content));
        }
        // No other image can take its place.
        if self.failed.is_paused(wanted, now) {
            return Err(NotReproducible::Failed);
        }
        if self.in_hand != Some(wanted) && !self.wanted.contains(&wanted) {
            self.wanted.push_front(wanted);
        }
        Err(NotReproducible::InTheMaking)
    }

    /// Orders an image for a run, unless it could not be made lately or is ordered already.
    fn want(&mut self, rules: &ImageRules, wish: Wish, now: Instant) {
        let is_asked = rules.on_need && wish.packages != PackageSet::NONE;
        let variety = self.ready.len().saturating_add(self.wanted.len());
        let all = PackageSet::ALL.without(wish.unsuitable);
        let wanted = if variety < rules.variety { wish.packages } else { all };
        let is_coming = self.in_hand == Some(wanted) || self.wanted.contains(&wanted);
        let is_known = self.failed.is_paused(wanted, now) || self.ready.contains_key(&wanted);
        if is_asked && !is_coming && !is_known {
            self.wanted.push_back(wanted);
        }
    }

    /// Orders profiles again whose pause after a failure is over. Other images are ordered by runs.
    fn order_failed_profiles(&mut self, rules: &ImageRules, now: Instant) {
        let due = self.failed.due(now).filter(|packages| rules.profiles.contains(packages));
        let due: Vec<_> = due.filter(|packages| !self.wanted.contains(packages)).collect();
        self.wanted.extend(due);
    }

    /// Adds an image. Returns the images that are removed for it.
    fn put(&mut self, rules: &ImageRules, image: Image) -> Vec<Ready> {
        let (last_pick, newest) = (self.picks, image.packages);
        self.failed.forget(newest);
        self.ready.insert(newest, Ready { image, hits: 0, noted: 0, last_pick });
        // Sessions can read theirs again, and runs would have to import.
        let left = rules.memory.as_u64().saturating_sub(self.bytes_beyond(rules));
        self.former.shrink(left);
        let mut gone = Vec::new();
        while let Some(surplus) = self.surplus(rules, newest) {
            gone.extend(self.ready.remove(&surplus));
        }
        gone
    }

    /// The image to remove if all together take too much memory. It is never the newest one: the
    /// next run that needs it would order it again.
    fn surplus(&self, rules: &ImageRules, newest: PackageSet) -> Option<PackageSet> {
        let idle = self.beyond(rules).filter(|(packages, _)| **packages != newest);
        let oldest = idle.min_by_key(|(_, ready)| ready.last_pick).map(|(packages, _)| *packages);
        oldest.filter(|_| self.bytes_beyond(rules) > rules.memory.as_u64())
    }

    /// The best of the suitable images that leave half of the run's memory free: the one with the most
    /// of its packages, and among equals the smallest.
    fn best(&self, wish: Wish) -> Option<PackageSet> {
        let Wish { packages, memory, .. } = wish;
        let fits = |ready: &&Ready| {
            let length = ready.image.content.length().as_u64();
            length <= memory.as_u64().saturating_div(2) && wish.allows(ready.image.packages)
        };
        let candidates = self.ready.values().filter(fits).map(|ready| &ready.image);
        let worth = |image: &&Image| {
            let length = image.content.length();
            (image.packages.shared_with(packages), std::cmp::Reverse(length))
        };
        let best =
            candidates.filter(|image| image.packages.shared_with(packages) > 0).max_by_key(worth);
        best.map(|image| image.packages)
    }
}

impl SharedImages {
    /// Adds an image, and removes others until the memory limit holds.
    pub(super) fn put(&self, image: Image) {
        let gone = self.state.lock().put(&self.rules, image);
        self.decided.send_replace(());
        for ready in gone {
            self.add_to_note(ready.image.packages, ready.hits.saturating_sub(ready.noted));
            info!(image = %ready.image.packages, "removed the image `{}` from memory", ready.image.packages);
        }
    }

    /// Waits for an ordered image; `None` after a pause, or when the cache is dropped.
    pub(super) fn next(&self) -> Option<PackageSet> {
        let mut state = self.state.lock();
        state.order_failed_profiles(&self.rules, Instant::now());
        if state.wanted.is_empty() && !state.ends {
            // Each pause ends with a check of the secret's age, so it is at most the allowed age.
            let pause = self.rules.max_age.map_or(NOTES_EVERY, |age| age.min(NOTES_EVERY));
            self.missed.wait_for(&mut state, pause.max(SHORTEST_PAUSE));
        }
        let next = state.wanted.pop_front()?;
        state.in_hand = Some(next);
        Some(next)
    }

    /// Loads the image for `packages`, and makes it first if it is missing.
    pub(super) fn provide(&self, packages: PackageSet, maker: &dyn ImageMaker) {
        let began = Instant::now();
        let provided = self.found_or_made(packages, maker);
        let mut state = self.state.lock();
        state.in_hand = None;
        match provided {
            Ok(image) => {
                drop(state);
                self.put(image);
                let milliseconds = began.elapsed().as_millis();
                info!(image = %packages, "the image `{packages}` is ready after {milliseconds} ms");
                self.clear_disk();
            }
            Err(error) => {
                state.failed.note(packages, Instant::now());
                drop(state);
                self.decided.send_replace(());
                let cause = CauseChain(&*error);
                warn!(image = %packages, "the image `{packages}` is not available now, so runs \
                    import its packages themselves: {cause}");
            }
        }
    }

    pub(super) fn found_or_made(
        &self,
        packages: PackageSet,
        maker: &dyn ImageMaker,
    ) -> Result<Image, ImageFault> {
        if let Some(image) = self.kept.find(packages)? {
            return Ok(image);
        }
        info!(image = %packages, "building the image `{packages}` in the background");
        // A maker makes several images at once. One of the others may be the reason of its failure.
        let made = maker.make(packages);
        match self.kept.find(packages)? {
            Some(image) => Ok(image),
            None => made.and_then(|()| Err("it disappeared after it was built".into())),
        }
    }

    /// The images that earlier processes used and that fit into memory, the latest first.
    fn recently_used(&self) -> Vec<PackageSet> {
        let mut noted = match self.kept.list() {
            Ok(made) => made,
            Err(error) => {
                warn!("the images of earlier runs cannot be listed: {error}");
                return Vec::new();
            }
        };
        noted.retain(|one| one.usage.hits > 0 && !self.rules.profiles.contains(&one.packages));
        noted.sort_unstable_by_key(|one| std::cmp::Reverse(one.usage.last_used_unix_seconds));
        let mut left = self.rules.memory.as_u64();
        let fits = |one: &KeptImage| {
            let rest = left.checked_sub(one.size.as_u64());
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        noted.into_iter().filter(fits).map(|one| one.packages).take(self.rules.variety).collect()
    }

    fn note_usage(&self) {
        let mut state = self.state.lock();
        state.former.drop_idle(Instant::now());
        let mut due = Vec::new();
        for ready in state.ready.values_mut().filter(|ready| ready.hits > ready.noted) {
            due.push((ready.image.packages, ready.hits.saturating_sub(ready.noted)));
            ready.noted = ready.hits;
        }
        drop(state);
        for (packages, more) in due {
            self.add_to_note(packages, more);
        }
    }

    fn add_to_note(&self, packages: PackageSet, more: u64) {
        if more > 0 {
            self.kept.note_use(packages, more, self.clock.now());
        }
    }

    /// Removes unused images from the disk until its limit holds.
    pub(super) fn clear_disk(&self) {
        let used: BTreeSet<PackageSet> = {
            let state = self.state.lock();
            let profiles = self.rules.profiles.iter();
            state.ready.keys().chain(profiles).chain([&PackageSet::NONE]).copied().collect()
        };
        match self.kept.shrink(self.rules.disk, &used) {
            Ok(removed) if removed.as_u64() > 0 => {
                info!("removed old images from the cache: {removed}");
            }
            Ok(_) => {}
            Err(error) => warn!("old images cannot be removed from the cache: {error}"),
        }
    }
}

/// Makes and loads wanted images until the cache is dropped.
fn keep(shared: &Weak<SharedImages>, maker: &dyn ImageMaker) {
    while let Some(shared) = shared.upgrade().filter(|shared| !shared.state.lock().ends) {
        shared.refresh(maker, Instant::now());
        match shared.next() {
            Some(packages) => shared.provide(packages, maker),
            None => shared.note_usage(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::attempts::FIRST_PAUSE;
    use wardian_formats::job::socket;

    const MUCH: ByteCount = ByteCount::mebibytes(4 << 10);

    fn rules() -> ImageRules {
        ImageRules {
            profiles: vec![packages("sympy")],
            on_need: true,
            variety: 3,
            memory: ByteCount::mebibytes(250),
            disk: MUCH,
            max_age: None,
        }
    }

    fn packages(name: &str) -> PackageSet {
        name.parse().unwrap()
    }

    /// An image of 100 MiB for each of its groups.
    fn image(name: &str) -> Image {
        let packages = packages(name);
        let size = ByteCount::mebibytes(100 * u64::from(packages.shared_with(PackageSet::ALL)));
        let memory = socket::share(name.as_bytes()).unwrap();
        let open_files = RawValue::from_string("{}".to_owned()).unwrap();
        let digest = Digest::of(name.as_bytes());
        let content = ImageContent::new(name.to_owned(), digest, (memory, size), open_files);
        Image { packages, content: Arc::new(content), resident: size }
    }

    fn cache_of(names: &[&str]) -> ImageTable {
        let mut state = ImageTable::default();
        for name in names {
            let gone = state.put(&ImageRules { memory: MUCH, ..rules() }, image(name));
            assert!(gone.is_empty());
        }
        state
    }

    fn wish(packages: PackageSet, memory: ByteCount) -> Wish {
        Wish { packages, unsuitable: PackageSet::NONE, memory }
    }

    fn picked(state: &mut ImageTable, name: &str, memory: ByteCount) -> String {
        let before = state.picks;
        let digest = state
            .pick(&rules(), wish(packages(name), memory), Instant::now())
            .map(|content| content.digest());
        assert_eq!(state.picks, before + 1);
        let found = state.ready.values().find(|one| Some(one.image.content.digest()) == digest);
        found.map_or("base".to_owned(), |one| one.image.packages.to_string())
    }

    #[test]
    fn always_an_image_and_the_best_present_one() {
        let mut state = cache_of(&["lxml", "lxml+scipy", "lxml+scipy+sklearn"]);
        for (wanted, memory, expected) in [
            ("base", MUCH, "base"),
            ("lxml", MUCH, "lxml"),
            ("scipy", MUCH, "lxml+scipy"),
            ("scipy+sklearn", MUCH, "lxml+scipy+sklearn"),
            ("scipy+sklearn", ByteCount::mebibytes(599), "lxml+scipy"),
            ("scipy+sklearn", ByteCount::mebibytes(399), "base"),
            ("networkx", MUCH, "base"),
            ("lxml+networkx", MUCH, "lxml"),
        ] {
            assert_eq!(picked(&mut state, wanted, memory), expected, "{wanted} in {memory}");
        }
        assert_eq!(state.base_hits, 3);
        assert_eq!(state.ready[&packages("lxml")].hits, 2);
    }

    #[test]
    fn a_missing_image_is_ordered_once() {
        let mut state = cache_of(&["lxml"]);
        for name in ["lxml", "scipy", "scipy", "lxml+scipy", "base"] {
            picked(&mut state, name, MUCH);
        }
        assert_eq!(state.wanted, [packages("scipy"), packages("lxml+scipy")]);
        state.in_hand = state.wanted.pop_front();
        let (failed, now) = (state.wanted.pop_front().unwrap(), Instant::now());
        state.failed.note(failed, now);
        picked(&mut state, "scipy", MUCH);
        picked(&mut state, "lxml+scipy", MUCH);
        assert!(state.wanted.is_empty());
        let never = ImageRules { on_need: false, ..rules() };
        state.pick(&never, wish(packages("pillow"), MUCH), now);
        assert!(state.wanted.is_empty());
        state.pick(&rules(), wish(failed, MUCH), now + FIRST_PAUSE);
        assert_eq!(state.wanted, [failed], "after a pause it is tried again");
    }

    #[test]
    fn a_run_without_the_batteries_of_an_image_neither_begins_as_it_nor_orders_it() {
        let mut state = cache_of(&["scipy+pydantic", "pydantic"]);
        let (unsuitable, now) = (PackageSet::OF_BATTERIES, Instant::now());
        let scipy = Wish { packages: packages("scipy"), unsuitable, memory: MUCH };
        assert!(state.pick(&rules(), scipy, now).is_none());
        assert_eq!(state.wanted, [packages("scipy")]);
        let other = Wish { packages: packages("lxml"), ..scipy };
        assert!(state.pick(&rules(), other, now).is_none());
        assert_eq!(state.wanted[1], PackageSet::ALL.without(unsuitable), "beyond the variety");
        assert_eq!(picked(&mut state, "scipy", MUCH), "scipy+pydantic");
    }

    #[test]
    fn a_run_never_begins_as_an_image_of_reproducible_runs() {
        let mut state = cache_of(&["reproducible+pydantic", "reproducible"]);
        assert_eq!(picked(&mut state, "pydantic", MUCH), "base");
        assert_eq!(state.wanted, [packages("pydantic")]);
    }

    #[test]
    fn a_profile_that_failed_is_tried_again_although_no_run_asks_for_it() {
        let (mut state, now) = (ImageTable::default(), Instant::now());
        for name in ["sympy", "lxml"] {
            state.failed.note(packages(name), now);
        }
        state.order_failed_profiles(&rules(), now);
        assert!(state.wanted.is_empty());
        for _ in 0..2 {
            state.order_failed_profiles(&rules(), now + FIRST_PAUSE);
            assert_eq!(state.wanted, [packages("sympy")]);
        }
    }

    #[test]
    fn the_image_of_reproducible_runs_is_tried_again_after_a_while() {
        let (mut state, now) = (ImageTable::default(), Instant::now());
        let wanted = PackageSet::REPRODUCIBLE;
        assert!(matches!(state.reproducible(wanted, now), Err(NotReproducible::InTheMaking)));
        assert!(matches!(state.reproducible(wanted, now), Err(NotReproducible::InTheMaking)));
        assert_eq!(state.wanted, [wanted], "it is ordered once");
        state.wanted.clear();
        state.failed.note(wanted, now);
        assert!(matches!(state.reproducible(wanted, now), Err(NotReproducible::Failed)));
        assert!(state.wanted.is_empty());
        let later = now + FIRST_PAUSE;
        assert!(matches!(state.reproducible(wanted, later), Err(NotReproducible::InTheMaking)));
        assert_eq!(state.wanted, [wanted]);
    }

    #[test]
    fn beyond_the_variety_one_image_serves_all() {
        let mut state = cache_of(&["lxml", "scipy"]);
        for name in ["pillow", "networkx", "matplotlib", "documents+lxml"] {
            picked(&mut state, name, MUCH);
        }
        assert_eq!(state.wanted, [packages("pillow"), PackageSet::ALL]);
    }

    #[test]
    fn bounded_cache_removes_the_least_recently_used_image() {
        let mut state = cache_of(&["sympy", "lxml", "scipy"]);
        picked(&mut state, "scipy", MUCH);
        picked(&mut state, "lxml", MUCH);
        let gone = state.put(&rules(), image("pillow"));
        assert_eq!(gone.len(), 1);
        assert_eq!(gone[0].image.packages, packages("scipy"));
        let gone = state.put(&rules(), image("documents+lxml+matplotlib"));
        assert_eq!(gone.len(), 2, "the newest stays, even if it is too large");
        let left: Vec<_> = state.ready.keys().map(PackageSet::to_string).collect();
        assert_eq!(left, ["documents+lxml+matplotlib", "sympy"], "profiles stay");
    }
}
