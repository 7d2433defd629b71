//! Connects a run with its profile.

use wasmtime::{Caller, Instance, Store};

use crate::profile::Sampler;
use crate::run::guest::calls;
use crate::run::guest::state::{Guest, TurnState};
use crate::run::meter::{FuelMeter, Sampling};
use wardian_formats::job::profile::{ProfileOrder, ProfileText};
use wardian_vocabulary::units::Fuel;

/// Profiles a turn that has not begun. The interpreter is looked for in the guest's memory as it is
/// now.
pub(crate) fn begin(
    store: &mut Store<Guest>,
    turn: &mut TurnState,
    instance: &Instance,
    order: ProfileOrder,
) {
    let Some(memory) = instance.get_memory(&mut *store, "memory") else { return };
    let sampler = Sampler::new(order, memory.data(&*store));
    let listener = move |caller: &mut Caller<'_, Guest>, _: u64| {
        let Some(used) = caller.data().meter().map(FuelMeter::used) else { return };
        let sampler = caller.data_mut().turn.as_mut().and_then(|turn| turn.sampler.take());
        let Some(mut sampler) = sampler else { return };
        sampler.sample(memory.data(&*caller), used);
        if let Some(turn) = &mut caller.data_mut().turn {
            turn.sampler = Some(sampler);
        }
    };
    turn.sampler = Some(sampler);
    turn.sampling = Some(Sampling::new(order.interval.0, Box::new(listener)));
}

/// Ends the profile of a turn that has used this much fuel.
pub(crate) fn finish(store: &mut Store<Guest>, used: Option<Fuel>) -> Option<ProfileText> {
    let sampler = store.data_mut().turn.as_mut()?.sampler.take()?;
    let profile = sampler.finish(calls::memory_of(store), used?);
    ProfileText::of(&profile).ok()
}
