//! The memory that the gateway holds for its clients: one budget that requests, their results and
//! their answers are charged to.
//!
//! INVARIANT(charged-before-allocated): memory whose size a client or a guest decides is charged
//! before it is allocated, and the charge is released when the memory is freed. A charge that does
//! not fit is refused. So the sum of all charges never exceeds the limit.
//! INVARIANT(charged-while-held): a blocking thread cannot be stopped when the client of its call
//! disconnects. Such work runs by [`CallMemory::on_thread`], or by [`CallMemory::on_task`] if it is a
//! future that uses such threads. Both keep the charges of the call and of its request until the work
//! is done.
//!
//! An eighth of the budget is reserved for small charges, so large requests cannot block small
//! ones. A quarter of it is all that runs in the background and calls with content take while they wait,
//! and one owner of such runs, or one tenant with such calls, takes half of that quarter at most: nothing
//! else bounds how long they hold their memory. States of sessions that are read for one tenant, and files
//! for them that arrive, take nine sixteenths of the budget at most.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, spawn, spawn_blocking};

use crate::ids::TenantId;
use crate::units::ByteCount;

/// The largest charge that may use the reserved part.
pub const SMALL: ByteCount = ByteCount::kibibytes(64);

/// Most outputs of runs that are checked at one time, in MiB. Further outputs wait for these, never
/// for a client.
const OUTPUTS: u32 = 32;

/// Memory for checking and storing an output, as a multiple of its size.
const OUTPUT_COPIES: u64 = 4;

/// Maximum number of blobs that all runs together have open, those of waiting runs included.
pub const OPEN_BLOBS: usize = 8_192;

/// The share of the budget that runs in the background take while they wait: a quarter.
const WAITING_SHARE: u64 = 4;

/// The share of it that large ones take: four fifths.
const LARGE_WAITING_SHARE: u64 = 5;

/// The largest charge of a run in the background that may use the rest.
const SMALL_WAITING: ByteCount = ByteCount::kibibytes(128);

/// The share of the budget that those of one owner take: an eighth.
const OWN_WAITING_SHARE: u64 = 8;

/// Sixteenths of the budget that the states of sessions that are read for one tenant take, with files that
/// arrive. A state is kept if it has half of the budget at most, and is sealed, so a single one always fits.
const STATES_SHARE: u64 = 9;

/// The budget is used up. Room becomes free when other requests are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the memory for requests is used up; repeat the call a little later")]
pub struct BudgetExhausted;

/// The budget.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
    /// The part of `used` that runs in the background hold while they wait.
    waiting: AtomicU64,
    /// What the calls of each tenant hold that wait with their content.
    waiting_calls: Mutex<HashMap<TenantId, Arc<WaitingMemory>>>,
    /// Bytes of the states of sessions that are read for each tenant, and of files that arrive.
    states: Mutex<HashMap<TenantId, u64>>,
    outputs: Arc<Semaphore>,
    open_blobs: Arc<Semaphore>,
}

/// The memory that the runs of one owner in the background hold while they wait, or calls of one tenant.
#[derive(Debug, Default)]
pub struct WaitingMemory(AtomicU64);

impl MemoryBudget {
    /// A budget of this size.
    #[must_use]
    pub fn new(limit: ByteCount) -> Arc<Self> {
        Arc::new(Self {
            limit: limit.as_u64(),
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            waiting_calls: Mutex::default(),
            states: Mutex::default(),
            outputs: Arc::new(Semaphore::new(usize::try_from(OUTPUTS).unwrap_or(1))),
            open_blobs: Arc::new(Semaphore::new(OPEN_BLOBS)),
        })
    }

    /// The most memory that checking outputs takes besides the budget.
    #[must_use]
    pub const fn outputs() -> ByteCount {
        ByteCount::mebibytes((OUTPUTS as u64).saturating_mul(OUTPUT_COPIES))
    }

    /// The most memory that all charges together may have.
    #[must_use]
    pub const fn limit(&self) -> ByteCount {
        ByteCount::bytes(self.limit)
    }

    /// The most that the states of one tenant's sessions that are read may have, with files that arrive.
    #[must_use]
    pub const fn most_of_states(&self) -> ByteCount {
        ByteCount::bytes((self.limit / 16).saturating_mul(STATES_SHARE))
    }

    /// The sum of all charges.
    #[must_use]
    pub fn used(&self) -> ByteCount {
        ByteCount::bytes(self.used.load(Ordering::Acquire))
    }

    /// Returns the largest sum of charges since the last call.
    #[must_use]
    pub fn take_peak(&self) -> ByteCount {
        ByteCount::bytes(self.peak.swap(self.used.load(Ordering::Acquire), Ordering::AcqRel))
    }

    /// Waits until an output of this size may be read. A permit is held only while an output is
    /// checked and stored, so this waits for processors and disks, never for clients.
    pub async fn wait_for_output(&self, size: ByteCount) -> Option<OwnedSemaphorePermit> {
        self.note_peak(size.as_u64().saturating_mul(OUTPUT_COPIES));
        let parts = size.as_u64().div_ceil(1 << 20);
        let parts = u32::try_from(parts).unwrap_or(OUTPUTS).clamp(1, OUTPUTS);
        // The semaphore is never closed.
        Arc::clone(&self.outputs).acquire_many_owned(parts).await.ok()
    }

    /// Adds `more` to the sum, unless the sum would exceed the limit for a charge of `total`.
    fn add(&self, more: u64, total: u64) -> Result<(), BudgetExhausted> {
        let kept = if total > SMALL.as_u64() { self.limit / 8 } else { 0 };
        let most = self.limit.saturating_sub(kept);
        let add = |used: u64| used.checked_add(more).filter(|sum| *sum <= most);
        let added = self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
        let before = added.ok().ok_or(BudgetExhausted)?;
        self.peak.fetch_max(before.saturating_add(more), Ordering::AcqRel);
        Ok(())
    }

    /// Adds `more` to what waits, unless this or the part of its owner would be too much.
    fn add_waiting(
        &self,
        more: u64,
        total: u64,
        owner: &WaitingMemory,
    ) -> Result<(), BudgetExhausted> {
        let add = |sum: &AtomicU64, share: u64| {
            let most = self.limit / share;
            let add = |used: u64| used.checked_add(more).filter(|sum| *sum <= most);
            let added = sum.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
            added.map(drop).map_err(|_full| BudgetExhausted)
        };
        // A part is left to small runs, which a few owners with large ones would keep out otherwise.
        let share =
            if total > SMALL_WAITING.as_u64() { LARGE_WAITING_SHARE } else { WAITING_SHARE };
        add(&owner.0, OWN_WAITING_SHARE)?;
        add(&self.waiting, share).inspect_err(|_| {
            owner.0.fetch_sub(more, Ordering::AcqRel);
        })
    }

    fn give_back_waiting(&self, bytes: u64, owner: &WaitingMemory) {
        owner.0.fetch_sub(bytes, Ordering::AcqRel);
        self.waiting.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// The account of the calls of a tenant that wait with their content.
    fn waiting_calls_of(&self, tenant: &TenantId) -> Arc<WaitingMemory> {
        let mut accounts = self.waiting_calls.lock();
        accounts.retain(|_, account| Arc::strong_count(account) > 1);
        Arc::clone(accounts.entry(tenant.clone()).or_default())
    }

    /// Adds `more` to the states of a tenant, unless they would take more than their share.
    fn add_states(&self, more: u64, tenant: &TenantId) -> Result<(), BudgetExhausted> {
        let most = self.most_of_states().as_u64();
        let mut states = self.states.lock();
        let before = states.get(tenant).copied().unwrap_or_default();
        let sum = before.checked_add(more).filter(|sum| *sum <= most);
        states.insert(tenant.clone(), sum.ok_or(BudgetExhausted)?);
        Ok(())
    }

    fn give_back_states(&self, bytes: u64, tenant: &TenantId) {
        let mut states = self.states.lock();
        let Some(sum) = states.get_mut(tenant) else { return };
        *sum = sum.saturating_sub(bytes);
        if *sum == 0 {
            states.remove(tenant);
        }
    }

    fn note_peak(&self, more: u64) {
        let used = self.used.load(Ordering::Acquire);
        self.peak.fetch_max(used.saturating_add(more), Ordering::AcqRel);
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// A part of the budget, released when it is dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<MemoryBudget>,
    bytes: u64,
    /// The share that it counts among as well.
    share: Option<Share>,
}

/// A share of the budget that one owner has.
#[derive(Debug)]
enum Share {
    /// That of a run in the background, or of a call with its content, as long as it waits.
    Waiting(Arc<WaitingMemory>),
    /// That of the states of a tenant's sessions, and of files that arrive.
    States(TenantId),
}

impl Charge {
    /// A charge of nothing.
    #[must_use]
    pub fn none(budget: &Arc<MemoryBudget>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0, share: None }
    }

    /// Makes the charge at least as large as this.
    ///
    /// # Errors
    ///
    /// The budget has no room for it; the charge stays as it is.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), BudgetExhausted> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let Some(more) = bytes.checked_sub(self.bytes).filter(|more| *more > 0) else {
            return Ok(());
        };
        match &self.share {
            Some(Share::Waiting(owner)) => self.budget.add_waiting(more, bytes, owner)?,
            Some(Share::States(tenant)) => self.budget.add_states(more, tenant)?,
            None => {}
        }
        if let Err(exhausted) = self.budget.add(more, bytes) {
            self.give_back_share(more);
            return Err(exhausted);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Makes the charge at most as large as this.
    pub fn shrink_to(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let Some(less) = self.bytes.checked_sub(bytes) else { return };
        self.give_back_share(less);
        self.budget.give_back(less);
        self.bytes = bytes;
    }

    /// Counts the charge among those that wait, unless they would take more than their share.
    fn begin_waiting(&mut self, owner: Arc<WaitingMemory>) -> Result<(), BudgetExhausted> {
        if !matches!(self.share, Some(Share::Waiting(_))) {
            self.budget.add_waiting(self.bytes, self.bytes, &owner)?;
            self.give_back_share(self.bytes);
            self.share = Some(Share::Waiting(owner));
        }
        Ok(())
    }

    /// Counts the charge no more among those that wait.
    fn end_waiting(&mut self) {
        if matches!(self.share, Some(Share::Waiting(_))) {
            self.give_back_share(self.bytes);
            self.share = None;
        }
    }

    fn give_back_share(&self, bytes: u64) {
        match &self.share {
            Some(Share::Waiting(owner)) => self.budget.give_back_waiting(bytes, owner),
            Some(Share::States(tenant)) => self.budget.give_back_states(bytes, tenant),
            None => {}
        }
    }

    /// The charged bytes.
    #[must_use]
    pub const fn size(&self) -> ByteCount {
        ByteCount::bytes(self.bytes)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.give_back_share(self.bytes);
        self.budget.give_back(self.bytes);
    }
}

/// The charge of a request or of one of its calls. It is released when its last clone is dropped.
#[derive(Debug, Clone)]
pub struct CallMemory(Arc<Held>);

#[derive(Debug)]
struct Held {
    budget: Arc<MemoryBudget>,
    charge: Mutex<Charge>,
    /// The charge of the request, whose parameters are in use as long as the call is.
    _request: Option<CallMemory>,
}

impl CallMemory {
    /// The charge of a new call.
    #[must_use]
    pub fn new(budget: &Arc<MemoryBudget>) -> Self {
        Self::holding(Charge::none(budget))
    }

    /// The account of a request that was charged already.
    #[must_use]
    pub fn holding(charge: Charge) -> Self {
        let budget = Arc::clone(&charge.budget);
        Self(Arc::new(Held { budget, charge: Mutex::new(charge), _request: None }))
    }

    /// The account of a call of this request. It keeps the request's charge too.
    #[must_use]
    pub fn of_call(&self) -> Self {
        let budget = Arc::clone(&self.0.budget);
        let charge = Mutex::new(Charge::none(&budget));
        Self(Arc::new(Held { budget, charge, _request: Some(self.clone()) }))
    }

    /// The account of a run of this owner that continues in the background when the call is
    /// answered. It keeps none of the call's charges. Until [`Self::end_waiting`] it has the share
    /// of runs that wait, and no more.
    #[must_use]
    pub fn in_background(&self, owner: Arc<WaitingMemory>) -> Self {
        let mut charge = Charge::none(&self.0.budget);
        charge.share = Some(Share::Waiting(owner));
        Self::holding(charge)
    }

    /// An account of its own for a state of a session of this tenant that is read, or a file that arrives.
    /// It does not end with the call. All of a tenant have a share of the budget.
    #[must_use]
    pub fn for_states_of(&self, tenant: &TenantId) -> Self {
        let mut charge = Charge::none(&self.0.budget);
        charge.share = Some(Share::States(tenant.clone()));
        Self::holding(charge)
    }

    /// The call of this tenant waits with the content that it is charged for. Until [`Self::end_waiting`] it
    /// has the share of runs that wait.
    ///
    /// # Errors
    ///
    /// The tenant's other calls that wait, or all that wait, have too much. Nothing has changed.
    pub fn begin_waiting(&self, tenant: &TenantId) -> Result<(), BudgetExhausted> {
        let owner = self.0.budget.waiting_calls_of(tenant);
        self.0.charge.lock().begin_waiting(owner)
    }

    /// The run has a worker, or the call its turn: its charges are those of any other from now on.
    pub fn end_waiting(&self) {
        self.0.charge.lock().end_waiting();
    }

    /// The account of a call with its own budget that has no limit.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(&MemoryBudget::new(ByteCount::bytes(u64::MAX)))
    }

    /// The budget that the call is charged to.
    #[must_use]
    pub fn budget(&self) -> &MemoryBudget {
        &self.0.budget
    }

    /// Charges more to the call, until the call is answered.
    ///
    /// # Errors
    ///
    /// The budget has no room for it.
    pub fn reserve(&self, bytes: ByteCount) -> Result<(), BudgetExhausted> {
        let mut charge = self.0.charge.lock();
        let total = charge.size().as_usize().saturating_add(bytes.as_usize());
        charge.grow_to(total)
    }

    /// Makes the charge at most as large as this.
    pub fn shrink_to(&self, bytes: usize) {
        self.0.charge.lock().shrink_to(bytes);
    }

    /// Permits `count` open blobs until the permit is dropped.
    ///
    /// # Errors
    ///
    /// Other runs have too many open.
    pub fn open_blobs(&self, count: usize) -> Result<OwnedSemaphorePermit, BudgetExhausted> {
        let open_blobs = Arc::clone(&self.0.budget.open_blobs);
        let count = u32::try_from(count).ok().ok_or(BudgetExhausted)?;
        open_blobs.try_acquire_many_owned(count).ok().ok_or(BudgetExhausted)
    }

    /// Drops `value` on a blocking thread, because dropping it may wait for a disk.
    pub fn drop_on_thread<T: Send + 'static>(&self, value: T) {
        let held = self.clone();
        let dropping = spawn_blocking(move || {
            drop(value);
            drop(held);
        });
        // The thread ends by itself.
        drop(dropping);
    }

    /// Runs `work` on a blocking thread. The thread keeps all charges of the call until the work is
    /// done, because it cannot be stopped.
    ///
    /// # Errors
    ///
    /// The work panicked, or the runtime ends.
    pub async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let held = self.clone();
        let keeping = move || {
            let result = work();
            drop(held);
            result
        };
        spawn_blocking(keeping).await
    }

    /// Polls `work` to its end in a task, also if the caller goes away. The task keeps all charges of
    /// the call until then. For work that goes on when its future is dropped, such as that of stores.
    ///
    /// # Errors
    ///
    /// The work panicked, or the runtime ends.
    pub async fn on_task<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, JoinError> {
        let held = self.clone();
        let keeping = async move {
            let result = work.await;
            drop(held);
            result
        };
        spawn(keeping).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charged_before_allocated_and_given_back() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(8));
        let mut large = Charge::none(&budget);
        large.grow_to(4 << 20).unwrap();
        large.grow_to(1 << 20).unwrap();
        assert_eq!((budget.used(), large.size()), (ByteCount::mebibytes(4), budget.used()));
        let mut other = Charge::none(&budget);
        assert_eq!(other.grow_to((3 << 20) + 1), Err(BudgetExhausted));
        assert_eq!(budget.used(), ByteCount::mebibytes(4), "what was refused costs nothing");
        other.grow_to(3 << 20).unwrap();
        large.shrink_to(1 << 20);
        assert_eq!(budget.used(), ByteCount::mebibytes(4));
        drop((large, other));
        assert_eq!(budget.used(), ByteCount::bytes(0));
        assert_eq!(budget.take_peak(), ByteCount::mebibytes(7));
        assert_eq!(budget.take_peak(), ByteCount::bytes(0), "the peak begins anew");
    }

    #[test]
    fn large_charges_leave_room_for_small_ones() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(8));
        let mut large = Charge::none(&budget);
        large.grow_to(7 << 20).unwrap();
        assert_eq!(large.grow_to((7 << 20) + 1), Err(BudgetExhausted));
        let small: Vec<Charge> = (0..16)
            .map(|_| {
                let mut charge = Charge::none(&budget);
                charge.grow_to(SMALL.as_usize()).unwrap();
                charge
            })
            .collect();
        assert_eq!(budget.used(), ByteCount::mebibytes(8));
        let call = CallMemory::new(&budget);
        assert_eq!(call.reserve(ByteCount::bytes(1)), Err(BudgetExhausted));
        drop(small);
        call.reserve(ByteCount::bytes(1)).unwrap();
        call.reserve(ByteCount::bytes(2)).unwrap();
        assert_eq!(call.0.charge.lock().size(), ByteCount::bytes(3));
    }

    #[test]
    fn runs_that_wait_have_a_quarter_and_those_of_one_owner_an_eighth() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(64));
        let call = CallMemory::new(&budget);
        let [one, two, three] = [(); 3].map(|()| Arc::new(WaitingMemory::default()));
        let first = call.in_background(Arc::clone(&one));
        first.reserve(ByteCount::mebibytes(8)).unwrap();
        assert_eq!(first.reserve(ByteCount::bytes(1)), Err(BudgetExhausted), "an eighth is full");
        let second = call.in_background(two);
        second.reserve(ByteCount::mebibytes(4)).unwrap();
        let third = call.in_background(Arc::clone(&three));
        assert_eq!(third.reserve(ByteCount::mebibytes(1)), Err(BudgetExhausted), "a fifth is full");
        let small: Vec<CallMemory> = (0..32)
            .map(|_| {
                let small = call.in_background(Arc::clone(&three));
                small.reserve(SMALL_WAITING).unwrap();
                small
            })
            .collect();
        assert_eq!(third.reserve(ByteCount::bytes(1)), Err(BudgetExhausted), "a quarter is full");
        drop(small);
        assert_eq!(three.0.load(Ordering::Acquire), 0, "what was refused costs nothing");
        call.reserve(ByteCount::mebibytes(32)).unwrap();
        // A run that has its worker makes room for those that wait.
        first.end_waiting();
        first.end_waiting();
        first.reserve(ByteCount::mebibytes(1)).unwrap();
        third.reserve(ByteCount::mebibytes(6)).unwrap();
        second.shrink_to(0);
        assert_eq!(budget.used(), ByteCount::mebibytes(32 + 9 + 6));
        // What the whole budget refuses does not stay counted among what waits.
        call.reserve(ByteCount::mebibytes(56 - 47)).unwrap();
        assert_eq!(third.reserve(ByteCount::mebibytes(1)), Err(BudgetExhausted));
        drop((first, second, third));
        assert_eq!(budget.waiting.load(Ordering::Acquire), 0);
        assert_eq!(one.0.load(Ordering::Acquire) + three.0.load(Ordering::Acquire), 0);
        assert_eq!(budget.used(), ByteCount::mebibytes(41));
    }

    #[test]
    fn calls_of_one_tenant_that_wait_with_their_content_have_an_eighth() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(64));
        let tenant = |name: &str| TenantId::parse(name).unwrap();
        let [acme, beta] = ["acme", "beta"].map(tenant);
        let call = |size| {
            let call = CallMemory::new(&budget);
            call.reserve(ByteCount::mebibytes(size)).unwrap();
            call
        };
        let [first, second, large] = [5, 4, 20].map(call);
        first.begin_waiting(&acme).unwrap();
        first.begin_waiting(&acme).unwrap();
        assert_eq!(second.begin_waiting(&acme), Err(BudgetExhausted), "an eighth is 8 MiB");
        assert_eq!(large.begin_waiting(&beta), Err(BudgetExhausted));
        second.begin_waiting(&beta).unwrap();
        assert_eq!(budget.waiting.load(Ordering::Acquire), 9 << 20);
        second.end_waiting();
        first.end_waiting();
        second.begin_waiting(&acme).unwrap();
        assert_eq!(budget.waiting.load(Ordering::Acquire), 4 << 20);
        drop((first, second, large));
        assert_eq!(budget.waiting.load(Ordering::Acquire), 0);
        call(8).begin_waiting(&beta).unwrap();
        assert_eq!(budget.waiting_calls.lock().len(), 1, "accounts that nobody has are forgotten");
        assert_eq!(budget.used(), ByteCount::default());
    }

    #[test]
    fn states_of_one_tenant_have_a_share_and_do_not_end_with_their_call() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(64));
        let tenant = |name: &str| TenantId::parse(name).unwrap();
        let [acme, beta] = ["acme", "beta"].map(tenant);
        let call = CallMemory::new(&budget);
        let [first, second] = [(); 2].map(|()| call.for_states_of(&acme));
        drop(call);
        first.reserve(ByteCount::mebibytes(30)).unwrap();
        assert_eq!(second.reserve(ByteCount::mebibytes(7)), Err(BudgetExhausted));
        second.reserve(ByteCount::mebibytes(6)).unwrap();
        assert_eq!(budget.most_of_states(), ByteCount::mebibytes(36));
        let other = second.for_states_of(&beta);
        other.reserve(ByteCount::mebibytes(20)).unwrap();
        assert_eq!(other.reserve(ByteCount::mebibytes(1)), Err(BudgetExhausted), "7/8 are used");
        assert_eq!(budget.states.lock().get(&beta), Some(&(20 << 20)), "it costs nothing");
        first.end_waiting();
        drop(first);
        second.reserve(ByteCount::mebibytes(30)).unwrap();
        // A file that has come and waits counts among what waits.
        let file = other.for_states_of(&beta);
        drop((second, other));
        file.reserve(ByteCount::mebibytes(4)).unwrap();
        file.begin_waiting(&beta).unwrap();
        assert_eq!(budget.waiting.load(Ordering::Acquire), 4 << 20);
        assert!(budget.states.lock().is_empty());
        drop(file);
        assert_eq!(budget.used(), ByteCount::default());
    }

    #[tokio::test]
    async fn outputs_wait_for_one_another() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(8));
        let first = budget.wait_for_output(ByteCount::mebibytes(32)).await.unwrap();
        let second = budget.wait_for_output(ByteCount::bytes(7));
        let second = tokio::time::timeout(std::time::Duration::from_millis(20), second).await;
        assert!(second.is_err(), "the second did not wait");
        drop(first);
        assert!(budget.wait_for_output(ByteCount::bytes(7)).await.is_some());
    }

    #[tokio::test]
    async fn charged_while_held_by_a_thread_whose_caller_is_gone() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(8));
        let mut body = Charge::none(&budget);
        body.grow_to(1 << 20).unwrap();
        let request = CallMemory::holding(body);
        let call = request.of_call();
        call.reserve(ByteCount::mebibytes(2)).unwrap();
        let (release, released) = std::sync::mpsc::channel::<()>();
        let (begin, begun) = tokio::sync::oneshot::channel();
        let work = call.on_thread(move || {
            begin.send(()).unwrap();
            released.recv().ok();
        });
        tokio::select! {
            _ = work => panic!("the work goes on"),
            begun = begun => begun.unwrap(),
        }
        drop((request, call));
        assert_eq!(budget.used(), ByteCount::mebibytes(3), "the thread still holds it");
        release.send(()).unwrap();
        while budget.used() > ByteCount::bytes(0) {
            tokio::task::yield_now().await;
        }
    }

    /// The same for a task: it is polled to its end although nobody waits for it.
    #[tokio::test]
    async fn charged_while_held_by_a_task_whose_caller_has_gone() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(8));
        let call = CallMemory::new(&budget);
        call.reserve(ByteCount::mebibytes(2)).unwrap();
        let (release, released) = tokio::sync::oneshot::channel::<()>();
        let (end, ended) = tokio::sync::oneshot::channel();
        {
            let work = call.on_task(async move {
                released.await.ok();
                end.send(()).unwrap();
            });
            let early = tokio::time::timeout(std::time::Duration::from_millis(5), work).await;
            assert!(early.is_err(), "the work goes on");
        }
        drop(call);
        assert_eq!(budget.used(), ByteCount::mebibytes(2), "the task still holds it");
        release.send(()).unwrap();
        ended.await.unwrap();
        while budget.used() > ByteCount::bytes(0) {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn open_blobs_of_all_runs_together_are_bounded() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(8));
        let call = CallMemory::new(&budget);
        let held = call.open_blobs(OPEN_BLOBS).unwrap();
        assert!(call.open_blobs(0).is_ok(), "a run without blobs is not concerned");
        assert_eq!(call.open_blobs(1).unwrap_err(), BudgetExhausted);
        drop(held);
        assert!(call.open_blobs(1).is_ok());
    }
}
