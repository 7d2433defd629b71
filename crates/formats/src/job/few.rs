//! Lists of few items, read from what a worker sends.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Reads a list of at most `most` items. Stops at a longer one: parsed items take several times the
/// memory of their JSON, and a compromised worker could send very many.
pub(crate) fn at_most<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    most: usize,
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct Few<T>(usize, PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Few<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {} items", self.0)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = sequence.next_element()? {
                if items.len() >= self.0 {
                    return Err(A::Error::invalid_length(items.len().saturating_add(1), &self));
                }
                items.push(item);
            }
            Ok(items)
        }
    }

    deserializer.deserialize_seq(Few(most, PhantomData))
}
