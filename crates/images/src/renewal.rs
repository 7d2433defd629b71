//! Rebuilds images with a new hash secret.

use std::time::Instant;

use tracing::{info, warn};

use crate::cache::SharedImages;
use crate::image::{Image, ImageFault, ImageMaker, ImageRenewals};
use crate::package_set::PackageSet;
use wardian_vocabulary::error::CauseChain;

impl SharedImages {
    /// Makes all images again with another hash secret, if the one in use is too old or another
    /// server has drawn a new one. Runs begin as an old image until its replacement is ready.
    pub(super) fn refresh(&self, maker: &dyn ImageMaker, now: Instant) {
        if let Err(error) = self.renew_images(maker, now) {
            let cause = CauseChain(&*error);
            warn!("images cannot be renewed and keep their present hash secret: {cause}");
        }
    }

    fn renew_images(&self, maker: &dyn ImageMaker, now: Instant) -> Result<(), ImageFault> {
        let Some(max_age) = self.rules.max_age else { return Ok(()) };
        if self.kept.renew_secret(self.clock.now().saturating_sub(max_age))? {
            info!("the hash secret is old: rebuilding all images with a new one");
        }
        let mut held = vec![(PackageSet::NONE, self.base.lock().content.digest())];
        let state = self.state.lock();
        held.extend(
            state.ready.iter().map(|(packages, one)| (*packages, one.image.content.digest())),
        );
        held.retain(|(packages, _)| !state.not_renewed.is_paused(*packages, now));
        drop(state);
        let mut is_any_new = false;
        for (packages, digest) in held {
            // One that cannot be made keeps none of the others from being renewed.
            let renewed = match self.kept.is_current(packages, digest) {
                Ok(true) => continue,
                Ok(false) => self.found_or_made(packages, maker),
                Err(error) => Err(error),
            };
            match renewed {
                Ok(image) => {
                    self.replace(packages, image);
                    self.state.lock().not_renewed.forget(packages);
                    self.count(|renewals| &mut renewals.renewed);
                    info!(image = %packages, "the image `{packages}` was renewed");
                    is_any_new = true;
                }
                Err(error) => {
                    self.count(|renewals| &mut renewals.failed);
                    self.state.lock().not_renewed.note(packages, now);
                    let cause = CauseChain(&*error);
                    warn!(image = %packages, "the image `{packages}` keeps its hash secret, \
                        because it cannot be renewed: {cause}");
                }
            }
        }
        if is_any_new {
            self.clear_disk();
        }
        Ok(())
    }

    /// Replaces the present image for `packages`. Does nothing if it was removed meanwhile.
    fn replace(&self, packages: PackageSet, image: Image) {
        if packages == PackageSet::NONE {
            *self.base.lock() = image;
        } else if let Some(ready) = self.state.lock().ready.get_mut(&packages) {
            ready.image = image;
        }
    }

    fn count(&self, which: impl FnOnce(&mut ImageRenewals) -> &mut u64) {
        let mut state = self.state.lock();
        let count = which(&mut state.renewals);
        *count = count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Duration;

    use std::sync::Arc;

    use parking_lot::Mutex;
    use serde_json::value::RawValue;

    use super::*;
    use crate::attempts::FIRST_PAUSE;
    use crate::cache::ImageCache;
    use crate::image::{KeptImage, KeptImages};
    use crate::rules::ImageRules;
    use wardian_formats::job::image::ImageContent;
    use wardian_formats::job::socket;
    use wardian_vocabulary::ids::Digest;
    use wardian_vocabulary::units::ByteCount;

    const SIZE: ByteCount = ByteCount::mebibytes(100);
    const MUCH: ByteCount = ByteCount::mebibytes(4 << 10);

    fn packages(name: &str) -> PackageSet {
        name.parse().unwrap()
    }

    /// A disk on which each secret has its own images, and a maker that fails for some.
    #[derive(Default)]
    struct Disk {
        generation: AtomicU64,
        unreadable: Mutex<BTreeSet<PackageSet>>,
        is_due: Mutex<bool>,
        made: Mutex<BTreeSet<(u64, PackageSet)>>,
        broken: Mutex<BTreeSet<PackageSet>>,
        /// The maker makes the image, and fails for another one that it makes too.
        fails_for_others: AtomicBool,
    }

    impl Disk {
        fn now(&self) -> u64 {
            self.generation.load(Ordering::Relaxed)
        }
    }

    fn of_generation(generation: u64, packages: PackageSet) -> Image {
        let digest = Digest::of(format!("{generation} {packages}").as_bytes());
        let memory = socket::share(b"memory").unwrap();
        let open_files = RawValue::from_string("{}".to_owned()).unwrap();
        let content = ImageContent::new(packages.to_string(), digest, (memory, SIZE), open_files);
        Image { packages, content: Arc::new(content), resident: SIZE }
    }

    impl KeptImages for Arc<Disk> {
        fn find(&self, packages: PackageSet) -> Result<Option<Image>, ImageFault> {
            let is_made = self.made.lock().contains(&(self.now(), packages));
            Ok(is_made.then(|| of_generation(self.now(), packages)))
        }

        fn list(&self) -> Result<Vec<KeptImage>, ImageFault> {
            Ok(Vec::new())
        }

        fn shrink(&self, _: ByteCount, _: &BTreeSet<PackageSet>) -> Result<ByteCount, ImageFault> {
            Ok(ByteCount::default())
        }

        fn renew_secret(&self, _: Duration) -> Result<bool, ImageFault> {
            let is_due = std::mem::take(&mut *self.is_due.lock());
            self.generation.fetch_add(u64::from(is_due), Ordering::Relaxed);
            Ok(is_due)
        }

        fn is_current(&self, packages: PackageSet, digest: Digest) -> Result<bool, ImageFault> {
            if self.unreadable.lock().contains(&packages) {
                return Err("the disk fails".into());
            }
            Ok(of_generation(self.now(), packages).content.digest() == digest)
        }

        fn note_use(&self, _: PackageSet, _: u64, _: Duration) {}
    }

    impl ImageMaker for Arc<Disk> {
        fn make(&self, packages: PackageSet) -> Result<(), ImageFault> {
            if self.broken.lock().contains(&packages) {
                return Err("no room".into());
            }
            self.made.lock().insert((self.now(), packages));
            if self.fails_for_others.load(Ordering::Relaxed) {
                Err("another one".into())
            } else {
                Ok(())
            }
        }
    }

    #[test]
    fn an_image_that_cannot_be_renewed_stays_is_counted_and_holds_up_no_other() {
        let disk = Arc::new(Disk::default());
        let rules = ImageRules {
            profiles: Vec::new(),
            on_need: true,
            variety: 12,
            memory: MUCH,
            disk: MUCH,
            max_age: Some(Duration::from_secs(1)),
        };
        let base = of_generation(0, PackageSet::NONE);
        let cache = ImageCache::new(Box::new(Arc::clone(&disk)), base, rules);
        let names = ["lxml", "pillow", "sympy"];
        for name in names {
            cache.shared.put(of_generation(0, packages(name)));
        }
        let held = || -> Vec<Digest> { cache.report().iter().map(|one| one.digest).collect() };
        let all: Vec<PackageSet> =
            [PackageSet::NONE].into_iter().chain(names.map(packages)).collect();
        let expected = |generations: [u64; 4]| -> Vec<Digest> {
            let pairs = generations.into_iter().zip(&all);
            pairs
                .map(|(generation, one)| of_generation(generation, *one).content.digest())
                .collect()
        };
        let now = Instant::now();
        let later = now + FIRST_PAUSE;
        cache.shared.refresh(&disk, now);
        assert_eq!((held(), cache.renewals()), (expected([0; 4]), ImageRenewals::default()));

        *disk.is_due.lock() = true;
        disk.broken.lock().extend([PackageSet::NONE, packages("pillow")]);
        cache.shared.refresh(&disk, now);
        assert_eq!(held(), expected([0, 1, 0, 1]));
        assert_eq!(cache.renewals(), ImageRenewals { renewed: 2, failed: 2 });
        // A run has an image all the time, and what failed is tried again.
        assert_eq!(
            cache.pick(packages("pillow"), PackageSet::NONE, MUCH).digest(),
            expected([0; 4])[2]
        );
        cache.shared.refresh(&disk, now);
        assert_eq!(cache.renewals(), ImageRenewals { renewed: 2, failed: 2 }, "after a pause");
        disk.broken.lock().clear();
        cache.shared.refresh(&disk, later);
        assert_eq!(held(), expected([1; 4]));
        assert_eq!(cache.renewals(), ImageRenewals { renewed: 4, failed: 2 });
        cache.shared.refresh(&disk, later);
        assert_eq!(cache.renewals(), ImageRenewals { renewed: 4, failed: 2 });
        // The disk cannot tell of the base image, and the maker of another one.
        *disk.is_due.lock() = true;
        disk.unreadable.lock().insert(PackageSet::NONE);
        disk.fails_for_others.store(true, Ordering::Relaxed);
        cache.shared.refresh(&disk, later);
        assert_eq!(held(), expected([1, 2, 2, 2]));
        assert_eq!(cache.renewals(), ImageRenewals { renewed: 7, failed: 3 });
    }
}
