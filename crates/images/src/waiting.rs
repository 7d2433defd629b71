//! Waits for images of reproducible runs, and makes them where no others are made.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::time::timeout;

use crate::cache::ImageCache;
use crate::image::ImageMaker;
use crate::package_set::PackageSet;
use crate::rules::NotReproducible;
use wardian_formats::job::image::ImageContent;

impl ImageCache {
    /// Spawns a thread that makes the images that reproducible runs order, and no others. Of use to a
    /// command, which does not make images for the runs of others.
    ///
    /// # Errors
    ///
    /// The operating system refuses the thread.
    pub fn start_for_reproducible(&self, maker: Box<dyn ImageMaker>) -> std::io::Result<()> {
        let shared = Arc::downgrade(&self.shared);
        let make = move || {
            while let Some(shared) = shared.upgrade().filter(|shared| !shared.state.lock().ends) {
                match shared.next() {
                    Some(packages) if packages.is_reproducible() => {
                        shared.provide(packages, &*maker);
                    }
                    Some(_) => shared.state.lock().in_hand = None,
                    None => {}
                }
            }
        };
        thread::Builder::new().name("images".to_owned()).spawn(make).map(drop)
    }

    /// As [`Self::reproducible`]; waits up to `patience` for an image that is being made.
    ///
    /// # Errors
    ///
    /// It is not ready after `patience`, or cannot be made.
    pub async fn reproducible_within(
        &self,
        packages: PackageSet,
        patience: Duration,
    ) -> Result<Arc<ImageContent>, NotReproducible> {
        let mut decided = self.shared.decided.subscribe();
        let found = async {
            loop {
                match self.reproducible(packages) {
                    // The sender lives as long as `self`, so an error cannot happen here.
                    Err(NotReproducible::InTheMaking) if decided.changed().await.is_ok() => {}
                    found => return found,
                }
            }
        };
        match timeout(patience, found).await {
            Ok(found) => found,
            Err(_elapsed) => self.reproducible(packages),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::pin::{Pin, pin};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    use parking_lot::Mutex;
    use serde_json::value::RawValue;

    use super::*;
    use crate::image::{Image, ImageFault, KeptImage, KeptImages};
    use crate::rules::ImageRules;
    use wardian_formats::job::socket;
    use wardian_vocabulary::ids::Digest;
    use wardian_vocabulary::units::ByteCount;

    const MUCH: ByteCount = ByteCount::mebibytes(1 << 10);

    fn rules() -> ImageRules {
        let (memory, disk) = (MUCH, MUCH);
        ImageRules { profiles: Vec::new(), on_need: true, variety: 3, memory, disk, max_age: None }
    }

    fn image(packages: PackageSet) -> Image {
        let size = ByteCount::mebibytes(1);
        let memory = socket::share(b"memory").unwrap();
        let open_files = RawValue::from_string("{}".to_owned()).unwrap();
        let digest = Digest::of(packages.to_string().as_bytes());
        let content = ImageContent::new(packages.to_string(), digest, (memory, size), open_files);
        Image { packages, content: Arc::new(content), resident: size }
    }

    /// A disk that has what was made.
    #[derive(Clone, Default)]
    struct Disk(Arc<Mutex<Vec<PackageSet>>>);

    impl KeptImages for Disk {
        fn find(&self, packages: PackageSet) -> Result<Option<Image>, ImageFault> {
            Ok(self.0.lock().contains(&packages).then(|| image(packages)))
        }

        fn list(&self) -> Result<Vec<KeptImage>, ImageFault> {
            Ok(Vec::new())
        }

        fn shrink(&self, _: ByteCount, _: &BTreeSet<PackageSet>) -> Result<ByteCount, ImageFault> {
            Ok(ByteCount::default())
        }

        fn renew_secret(&self, _: Duration) -> Result<bool, ImageFault> {
            Ok(false)
        }

        fn is_current(&self, _: PackageSet, _: Digest) -> Result<bool, ImageFault> {
            Ok(true)
        }

        fn note_use(&self, _: PackageSet, _: u64, _: Duration) {}
    }

    impl ImageMaker for Disk {
        fn make(&self, packages: PackageSet) -> Result<(), ImageFault> {
            self.0.lock().push(packages);
            Ok(())
        }
    }

    /// Makes nothing.
    struct FullDisk;

    impl ImageMaker for FullDisk {
        fn make(&self, _: PackageSet) -> Result<(), ImageFault> {
            Err("the disk is full".into())
        }
    }

    /// Notes that a task was woken.
    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }

    impl Woken {
        fn poll<F: Future>(self: &Arc<Self>, future: Pin<&mut F>) -> Poll<F::Output> {
            self.0.store(false, Ordering::Release);
            future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(self))))
        }

        fn is_woken(&self) -> bool {
            self.0.load(Ordering::Acquire)
        }
    }

    fn empty_cache() -> ImageCache {
        ImageCache::new(Box::new(Disk::default()), image(PackageSet::NONE), rules())
    }

    const LONG: Duration = Duration::from_secs(3_600);

    #[tokio::test]
    async fn a_run_that_waits_for_its_image_is_woken_when_it_is_ready() {
        let (cache, woken) = (empty_cache(), Arc::new(Woken::default()));
        let mut waiting = pin!(cache.reproducible_within(PackageSet::NONE, LONG));
        assert!(woken.poll(waiting.as_mut()).is_pending());
        // Another image decides nothing.
        cache.shared.put(image("lxml".parse().unwrap()));
        assert!(woken.poll(waiting.as_mut()).is_pending() && !woken.is_woken());
        let made = image(PackageSet::REPRODUCIBLE);
        let digest = made.content.digest();
        cache.shared.put(made);
        assert!(woken.is_woken());
        let Poll::Ready(found) = woken.poll(waiting.as_mut()) else { panic!("it waits on") };
        assert_eq!(found.unwrap().digest(), digest);
    }

    #[tokio::test]
    async fn a_command_makes_images_of_reproducible_runs_alone() {
        let disk = Disk::default();
        let cache = ImageCache::new(Box::new(disk.clone()), image(PackageSet::NONE), rules());
        cache.start_for_reproducible(Box::new(disk.clone())).unwrap();
        let packages = |name: &str| name.parse::<PackageSet>().unwrap();
        drop(cache.pick(packages("lxml+pydantic"), PackageSet::NONE, MUCH));
        let made = cache.reproducible_within(packages("lxml+pydantic"), LONG).await.unwrap();
        assert_eq!(made.name(), "reproducible+pydantic");
        assert_eq!(*disk.0.lock(), [packages("reproducible+pydantic")]);
    }

    #[tokio::test]
    async fn a_run_that_waits_for_its_image_is_woken_when_it_cannot_be_made() {
        let (cache, woken) = (empty_cache(), Arc::new(Woken::default()));
        let mut waiting = pin!(cache.reproducible_within(PackageSet::NONE, LONG));
        assert!(woken.poll(waiting.as_mut()).is_pending());
        let ordered = cache.shared.next().unwrap();
        cache.shared.provide(ordered, &FullDisk);
        assert!(woken.is_woken());
        let found = woken.poll(waiting.as_mut());
        assert!(matches!(found, Poll::Ready(Err(NotReproducible::Failed))), "{found:?}");
    }

    #[tokio::test]
    async fn a_run_waits_for_its_image_no_longer_than_its_patience() {
        let cache = empty_cache();
        let found = cache.reproducible_within(PackageSet::NONE, Duration::from_millis(20)).await;
        assert!(matches!(found, Err(NotReproducible::InTheMaking)), "{found:?}");
    }
}
