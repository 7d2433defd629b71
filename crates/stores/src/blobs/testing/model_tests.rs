//! Random sequences of operations on a store, compared with a model that is a map.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;

use proptest::prelude::*;
use tokio::runtime::Builder;

use crate::blobs::local::testing::{plain, tenant};
use crate::blobs::testing::place_tests::{LocalPlace, MemoryPlace, Place};
use crate::blobs::{BlobError, BlobOrder, BlobPart, BlobWriter, Blobs, NewBlob, StoredBlob};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{BlobId, BlobName, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Most bytes and blobs of a tenant, and most bytes of a blob.
const QUOTA: usize = 400;
const BLOBS: usize = 4;
const LARGEST: usize = 200;

#[derive(Debug, Clone)]
enum Step {
    Put(u8, u8),
    PutFrom(u8, u8),
    /// In pieces of this size, to the end or not.
    Pieces(u8, u8, u8, bool),
    Name(u8, u8, u8),
    Remove(u8, u8),
    Read(u8, u8, Option<u64>, u64),
    Open(u8, u8),
    List(u8, usize),
    Crash,
}

fn any_step() -> impl Strategy<Value = Step> {
    let (who, what) = (0..2_u8, 0..7_u8);
    let both = || (who.clone(), what.clone());
    prop_oneof![
        3 => both().prop_map(|(who, what)| Step::Put(who, what)),
        2 => both().prop_map(|(who, what)| Step::PutFrom(who, what)),
        3 => (both(), 1..90_u8, any::<bool>())
            .prop_map(|((who, what), piece, ends)| Step::Pieces(who, what, piece, ends)),
        3 => (both(), 0..20_u8).prop_map(|((who, what), name)| Step::Name(who, what, name)),
        2 => both().prop_map(|(who, what)| Step::Remove(who, what)),
        3 => (both(), proptest::option::of(0..260_u64), 0..300_u64)
            .prop_map(|((who, what), from, limit)| Step::Read(who, what, from, limit)),
        2 => both().prop_map(|(who, what)| Step::Open(who, what)),
        2 => (who.clone(), 1..5_usize).prop_map(|(who, most)| Step::List(who, most)),
        1 => Just(Step::Crash),
    ]
}

/// The content number 6 is larger than a blob may be.
fn bytes_of(what: u8) -> Vec<u8> {
    (0..usize::from(what) * 37).map(|n| (n % 255) as u8 ^ what).collect()
}

fn name_of(number: u8) -> BlobName {
    BlobName::parse(&format!("{}{number}", ["a", "B"][usize::from(number % 2)])).unwrap()
}

/// What each tenant has: the names of each content.
#[derive(Default)]
struct Model {
    stored: BTreeMap<(u8, u8), Vec<BlobName>>,
    /// The id of each content that was stored once.
    ids: BTreeMap<(u8, u8), BlobId>,
}

impl Model {
    fn of(&self, who: u8) -> impl Iterator<Item = u8> {
        self.stored.keys().filter(move |(owner, _)| *owner == who).map(|(_, what)| *what)
    }

    /// The kind of the error of content that does not fit.
    fn refusal(&self, who: u8, what: u8) -> Option<ErrorKind> {
        let size = bytes_of(what).len();
        let used: usize = self.of(who).map(|what| bytes_of(what).len()).sum();
        if size > LARGEST {
            Some(ErrorKind::TooLarge)
        } else if used + size > QUOTA || self.of(who).count() + 1 > BLOBS {
            Some(ErrorKind::QuotaExceeded)
        } else {
            None
        }
    }

    fn check_stored(
        &mut self,
        (who, what): (u8, u8),
        stored: Result<StoredBlob, BlobError>,
        refusal: Option<ErrorKind>,
    ) {
        match stored {
            Ok(blob) => {
                assert_eq!(refusal, None, "{what} was stored");
                let names = self.stored.entry((who, what)).or_default();
                assert_eq!(blob.name.as_ref(), names.first());
                assert_eq!(blob.other_names.as_slice(), names.get(1..).unwrap_or_default());
                assert_eq!(blob.size, bytes_of(what).len().into());
                let known = self.ids.entry((who, what)).or_insert_with(|| blob.id.clone());
                assert_eq!(*known, blob.id, "one content, two ids");
            }
            Err(error) => assert_eq!(Some(error.kind()), refusal, "{error}"),
        }
    }

    /// The id of a content, also if it is not stored now.
    fn id(&self, who: u8, what: u8) -> Option<&BlobId> {
        self.ids.get(&(who, what))
    }
}

async fn write_pieces(
    blobs: &Blobs,
    tenant: &TenantId,
    (content, piece): (&[u8], usize),
) -> Result<Box<dyn BlobWriter>, BlobError> {
    let new = NewBlob { kind: plain(), announced: None, digest: None };
    let mut writer = blobs.store.begin(tenant, new).await?;
    for piece in content.chunks(piece) {
        writer.append(piece.to_vec()).await?;
    }
    Ok(writer)
}

async fn store(blobs: &Blobs, model: &mut Model, step: &Step) {
    let tenants = [TenantId::local(), tenant("acme")];
    match *step {
        Step::Put(who, what) => {
            let known = model.stored.contains_key(&(who, what));
            let refusal = if known { None } else { model.refusal(who, what) };
            let owner = &tenants[usize::from(who)];
            let stored = blobs.store.put(owner, &plain(), bytes_of(what)).await;
            model.check_stored((who, what), stored, refusal);
        }
        Step::PutFrom(who, what) => {
            let (refusal, content) = (model.refusal(who, what), bytes_of(what));
            let size = ByteCount::from(content.len());
            let source: Box<dyn Read + Send> = Box::new(io::Cursor::new(content));
            let owner = &tenants[usize::from(who)];
            let stored = blobs.store.put_from(owner, &plain(), size, source).await;
            model.check_stored((who, what), stored, refusal);
        }
        Step::Pieces(who, what, piece, ends) => {
            let (refusal, content) = (model.refusal(who, what), bytes_of(what));
            let pieces = (&*content, usize::from(piece));
            let written = write_pieces(blobs, &tenants[usize::from(who)], pieces).await;
            match written {
                Ok(writer) if ends => {
                    let is_known = model.stored.contains_key(&(who, what));
                    let written = writer.finish().await.unwrap();
                    assert_eq!(written.is_new, !is_known);
                    // Known content is stored with its names.
                    model.check_stored((who, what), Ok(written.blob), refusal);
                }
                Ok(writer) => drop(writer),
                // The quota may be found full before the content is too large.
                Err(error) if refusal == Some(ErrorKind::TooLarge) => {
                    let kinds = [ErrorKind::TooLarge, ErrorKind::QuotaExceeded];
                    assert!(kinds.contains(&error.kind()), "{error}");
                }
                Err(error) => assert_eq!(Some(error.kind()), refusal, "{error}"),
            }
        }
        _ => {}
    }
}

async fn take(blobs: &Blobs, model: &mut Model, step: &Step) {
    let tenants = [TenantId::local(), tenant("acme")];
    match *step {
        Step::Put(..) | Step::PutFrom(..) | Step::Pieces(..) => store(blobs, model, step).await,
        Step::Name(who, what, number) => {
            let Some(id) = model.id(who, what).cloned() else { return };
            let name = name_of(number);
            let names = [(id, name.clone())];
            blobs.store.set_names(&tenants[usize::from(who)], &names).await.unwrap();
            if let Some(names) = model.stored.get_mut(&(who, what)) {
                names.retain(|other| *other != name);
                names.insert(0, name);
                names.truncate(16);
            }
        }
        Step::Remove(who, what) => {
            let Some(id) = model.id(who, what).cloned() else { return };
            let removed = blobs.store.remove(&tenants[usize::from(who)], &id).await;
            assert_eq!(removed.is_ok(), model.stored.remove(&(who, what)).is_some());
        }
        Step::Read(who, what, from, limit) => {
            let Some(id) = model.id(who, what) else { return };
            let part = from.map_or(BlobPart::Tail, BlobPart::From);
            let owner = &tenants[usize::from(who)];
            let read = blobs.store.read(owner, id, part, ByteCount::bytes(limit)).await;
            assert_eq!(read.is_ok(), model.stored.contains_key(&(who, what)));
            let Ok(window) = read else { return };
            let (content, limit) = (bytes_of(what), usize::try_from(limit).unwrap());
            let begin = match from {
                Some(from) => usize::try_from(from).unwrap().min(content.len()),
                None => content.len().saturating_sub(limit),
            };
            assert_eq!(window.bytes, content[begin..(begin + limit).min(content.len())]);
            assert_eq!(window.offset, begin as u64);
        }
        Step::Open(who, what) => {
            let Some(id) = model.id(who, what) else { return };
            let opened = blobs.files.open(&tenants[usize::from(who)], id).await;
            assert_eq!(opened.is_ok(), model.stored.contains_key(&(who, what)));
            let Ok(opened) = opened else { return };
            let mut content = vec![0; opened.blob.size.as_usize()];
            opened.file.read_exact_at(&mut content, 0).unwrap();
            assert_eq!(content, bytes_of(what));
        }
        Step::List(who, most) => check_lists(blobs, model, who, most).await,
        Step::Crash => {}
    }
}

/// Compares all pages of all lists, and the usage.
async fn check_lists(blobs: &Blobs, model: &Model, who: u8, most: usize) {
    let owner = &[TenantId::local(), tenant("acme")][usize::from(who)];
    let mut expected: Vec<(&BlobId, usize, Option<&BlobName>)> = model
        .of(who)
        .map(|what| {
            let name = model.stored[&(who, what)].first();
            (model.id(who, what).unwrap(), bytes_of(what).len(), name)
        })
        .collect();
    expected.sort_by_key(|(id, ..)| (*id).clone());
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = blobs.store.list(owner, after.as_ref(), most).await.unwrap();
        after = page.blobs.last().map(|listed| listed.id.clone());
        found.extend(page.blobs);
        if !page.has_more {
            break;
        }
    }
    let shown: Vec<(&BlobId, usize, Option<&BlobName>)> = found
        .iter()
        .map(|listed| {
            let name = listed.described.as_ref().unwrap().name.as_ref();
            (&listed.id, listed.size.as_usize(), name)
        })
        .collect();
    assert_eq!(shown, expected);

    let ordered = |page: Option<crate::blobs::BlobPage>| {
        page.unwrap().blobs.into_iter().map(|listed| listed.id).collect::<Vec<_>>()
    };
    let list = |order| blobs.store.list_in_order(owner, order, None, BLOBS);
    let largest = ordered(list(BlobOrder::Largest).await.unwrap());
    expected.sort_by_key(|(id, size, _)| (std::cmp::Reverse(*size), (*id).clone()));
    assert_eq!(largest, expected.iter().map(|(id, ..)| (*id).clone()).collect::<Vec<_>>());
    let by_name = ordered(list(BlobOrder::Name).await.unwrap());
    expected.sort_by_key(|(id, _, name)| {
        let name = name.map(ToString::to_string);
        (name.is_none(), name.as_deref().map(str::to_lowercase), name, (*id).clone())
    });
    assert_eq!(by_name, expected.iter().map(|(id, ..)| (*id).clone()).collect::<Vec<_>>());

    let usage = blobs.store.usage(owner).await.unwrap();
    let bytes: usize = expected.iter().map(|(_, size, _)| size).sum();
    assert_eq!((usage.blobs, usage.bytes), (expected.len() as u64, bytes as u64));
}

async fn live<P: Place>(steps: &[Step]) {
    let mut place = P::with(|config| {
        config.blob_max = LARGEST.into();
        config.tenant_bytes = QUOTA.into();
        config.tenant_blobs = BLOBS as u64;
    });
    let mut model = Model::default();
    for step in steps {
        if matches!(step, Step::Crash) {
            place = place.after_crash();
        }
        take(&place.blobs(), &mut model, step).await;
    }
    let place = place.after_crash();
    for who in 0..2 {
        check_lists(&place.blobs(), &model, who, 2).await;
    }
    assert_eq!((place.remains(), place.set_aside()), (0, 0));
}

fn run<P: Place>(steps: &[Step]) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(live::<P>(steps));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_local_store_is_a_map(steps in proptest::collection::vec(any_step(), 1..30)) {
        run::<LocalPlace>(&steps);
    }

    #[test]
    fn the_store_in_memory_is_a_map(steps in proptest::collection::vec(any_step(), 1..30)) {
        run::<MemoryPlace>(&steps);
    }
}
