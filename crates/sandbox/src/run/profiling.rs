//! Connects a run with its profile.

use wasmtime::{Caller, Instance, Store};

use crate::profile::Sampler;
use crate::run::guest::{self, Guest};
use crate::run::meter::{FuelMeter, Sampling};
use wardian_formats::job::profile::{ProfileOrder, ProfileText};
use wardian_vocabulary::units::Fuel;

/// Begins to profile a guest whose memory is still that of its image. Must be called before the guest
/// is attached.
pub(crate) fn begin(store: &mut Store<Guest>, instance: &Instance, order: ProfileOrder) {
    let Some(memory) = instance.get_memory(&mut *store, "memory") else { return };
    let sampler = Sampler::new(order, memory.data(&*store));
    let listener = move |caller: &mut Caller<'_, Guest>, _: u64| {
        let Some(used) = caller.data().meter.as_ref().map(FuelMeter::used) else { return };
        if let Some(mut sampler) = caller.data_mut().sampler.take() {
            sampler.sample(memory.data(&*caller), used);
            caller.data_mut().sampler = Some(sampler);
        }
    };
    let guest = store.data_mut();
    guest.sampler = Some(sampler);
    guest.sampling = Some(Sampling::new(order.interval.0, Box::new(listener)));
}

/// Ends the profile of a guest that has used this much fuel.
pub(crate) fn finish(store: &mut Store<Guest>, used: Option<Fuel>) -> Option<ProfileText> {
    let sampler = store.data_mut().sampler.take()?;
    let profile = sampler.finish(guest::memory_of(store), used?);
    ProfileText::of(&profile).ok()
}
