//! The key of an image: everything that decides its content.
//!
//! INVARIANT(image-key): an image made from another engine, another guest package, with other
//! packages or other batteries has another key.

use crate::locking;
use wardian_engine::CStack;
use wardian_vocabulary::ids::Digest;

/// Part of every key. Raise it when images are made or read in another way.
const FORMAT: u32 = 6;

/// The parts of the engine that decide the content of an image. An image is memory of this code
/// and holds modules of this library, so it fits no other code and no other library.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImageOrigin {
    /// Digest of the patched module.
    pub(super) module: Digest,
    /// Version of the transform that made the code.
    pub(super) transform: u32,
    pub(super) cold_image: Digest,
    pub(super) library: Digest,
    pub(super) c_stack: CStack,
    /// Names the batteries, for an image that has imported some.
    pub(super) batteries: Option<Digest>,
}

/// Names an image. The native code is not part of the key: both variants compute the same.
pub(super) fn key(origin: &ImageOrigin, secret: Digest, source: &str) -> Digest {
    let ImageOrigin { module, transform, cold_image, library, c_stack, batteries } = origin;
    let CStack { base, size_bytes } = c_stack;
    let source = Digest::of(source.as_bytes());
    let words = locking::key();
    let batteries = batteries.map_or_else(String::new, |digest| format!(" {digest}"));
    let parts = format!(
        "{FORMAT} {module} {transform} {cold_image} {library} {base} {size_bytes} {secret} {words}{source}{batteries}"
    );
    Digest::of(parts.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::source;
    use wardian_images::PackageSet;

    #[test]
    fn image_key_follows_code_library_secret_and_source() {
        let (one, two) = (Digest::of(b"one"), Digest::of(b"two"));
        let c_stack = CStack { base: 1, size_bytes: 2 };
        let origin = ImageOrigin {
            module: one,
            transform: 1,
            cold_image: one,
            library: one,
            c_stack,
            batteries: None,
        };
        let none = source::text(PackageSet::NONE);
        let base = key(&origin, one, &none);
        assert_eq!(base, key(&origin, one, &source::text(PackageSet::NONE)));
        let others = [
            ImageOrigin { module: two, ..origin },
            ImageOrigin { transform: 2, ..origin },
            ImageOrigin { cold_image: two, ..origin },
            ImageOrigin { library: two, ..origin },
            ImageOrigin { batteries: Some(one), ..origin },
            ImageOrigin { batteries: Some(two), ..origin },
            ImageOrigin { c_stack: CStack { base: 2, ..c_stack }, ..origin },
            ImageOrigin { c_stack: CStack { size_bytes: 1, ..c_stack }, ..origin },
        ];
        let keys: BTreeSet<Digest> = others.iter().map(|other| key(other, one, &none)).collect();
        assert_eq!(keys.len(), others.len());
        assert!(!keys.contains(&base));
        assert_ne!(base, key(&origin, two, &none));
        assert_ne!(base, key(&origin, one, &source::text(PackageSet::ALL)));
    }
}
