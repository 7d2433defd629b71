//! The main loop of a worker: carries out the gateway's orders, one turn at a time.
//!
//! A session opens a guest, or resumes one from the packs of a checkpoint, gives it turns, and closes
//! it. A worker keeps the guests of several sessions between their turns. After each turn that is a cell or
//! changes files, the gateway gets the guest's state. A run is one turn in one message, and nothing follows
//! its answer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::mem::take;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::error::WorkerError;
use crate::host::{ChannelHost, CloseGuests, LeftChannel};
use crate::link::channel::Channel;
use crate::link::error::ChannelError;
use crate::runner::{Runner, RunnerError};
use wardian_formats::job::Turn;
use wardian_formats::job::attachment::{AttachedContent, PackedFile};
use wardian_formats::job::message::{FromWorker, GuestNumber, PAYLOAD_MAX, Payload, ToWorker};
use wardian_formats::job::session::checkpoint::MOST_IN_CHAIN;
use wardian_formats::job::session::files::{FilesAnswer, FilesOrder};
use wardian_sandbox::{PackError, Stopwatch, TurnEnd};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::units::ByteCount;

/// A guest that is open.
struct Opened<G> {
    /// The guest, or the reason why it could not be resumed.
    guest: Result<G, PackError>,
    /// How long it took to make it from its packs, until its first turn says so.
    resumed: Option<Duration>,
}

impl<G> Opened<G> {
    const fn new(guest: Result<G, PackError>) -> Self {
        Self { guest, resumed: None }
    }
}

/// The guests that are open, without the one that has a turn.
struct OpenGuests<G>(RefCell<BTreeMap<GuestNumber, Opened<G>>>);

impl<G> Default for OpenGuests<G> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<G> fmt::Debug for OpenGuests<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.borrow().keys()).finish()
    }
}

impl<G> OpenGuests<G> {
    /// True if no guest has this number.
    fn is_free(&self, number: GuestNumber) -> bool {
        !self.0.borrow().contains_key(&number)
    }

    fn put(&self, number: GuestNumber, guest: Opened<G>) {
        self.0.borrow_mut().insert(number, guest);
    }

    fn take(&self, number: GuestNumber) -> Result<Opened<G>, WorkerError> {
        self.0.borrow_mut().remove(&number).ok_or(WorkerError::Unexpected)
    }
}

impl<G> CloseGuests for OpenGuests<G> {
    fn close(&self, number: GuestNumber) -> bool {
        let closed = self.0.borrow_mut().remove(&number);
        closed.is_some()
    }
}

/// What came before a turn, and how long it took.
#[derive(Debug, Clone, Copy)]
struct Before {
    /// The reset after the last guest that was closed, if no other turn has said so.
    last_reset: Option<Duration>,
    /// The guest was made from its packs, and this is its first turn.
    resumed: Option<Duration>,
}

/// Carries out the gateway's messages until the gateway closes its end.
///
/// # Errors
///
/// The gateway or the sandbox broke.
pub fn attend<R: Runner>(channel: Channel, runner: &mut R) -> Result<(), WorkerError> {
    let channel = Rc::new(RefCell::new(channel));
    let mut last_reset = None;
    let guests = Rc::new(OpenGuests::<R::Guest>::default());
    let mut packs = Vec::new();
    let mut content = None;
    loop {
        let received = channel.borrow_mut().receive()?;
        let Some((message, payload)) = received else { return Ok(()) };
        match message {
            ToWorker::Attach(attachment) => {
                if let AttachedContent::Skill { files, .. } = &attachment.content {
                    ensure_within(files, &payload)?;
                }
                runner.attach(attachment, payload).map_err(WorkerError::Sandbox)?;
            }
            ToWorker::Detach(key) => runner.detach(&key),
            ToWorker::Content if content.is_none() && packs.is_empty() => content = Some(payload),
            ToWorker::Open(number, setup) if packs.is_empty() && guests.is_free(number) => {
                let guest = runner.open((*setup).into()).map_err(WorkerError::Sandbox)?;
                guests.put(number, Opened::new(Ok(guest)));
            }
            ToWorker::Pack if packs.len() < MOST_IN_CHAIN => packs.push(payload),
            ToWorker::Resume(number, setup) if guests.is_free(number) => {
                let begun = Instant::now();
                let resumed = runner.resume((*setup).into(), take(&mut packs));
                let guest = resumed.map_err(WorkerError::Sandbox)?;
                guests.put(number, Opened { guest, resumed: Some(begun.elapsed()) });
            }
            ToWorker::Turn(number, turn) if packs.is_empty() => {
                let turn = (*turn, content.take());
                give_turn(&channel, runner, (&guests, number, turn), &mut last_reset)?;
            }
            ToWorker::Close(number) if packs.is_empty() && content.is_none() => {
                last_reset = close_open(&channel, runner, guests.take(number)?)?;
            }
            ToWorker::Run(setup, turn) if packs.is_empty() && content.is_none() => {
                let watch = Stopwatch::start();
                let mut guest = runner.open((*setup).into()).map_err(WorkerError::Sandbox)?;
                let order = (&mut guest, (*turn, None), ChannelHost::new(&channel));
                let before = Before { last_reset: last_reset.take(), resumed: None };
                perform(&channel, runner, order, (watch, before))?;
                // The gateway has its answer, so cleaning up does not delay the caller.
                last_reset = Some(close(&channel, runner, guest)?);
            }
            // The turn ended while the message was on its way.
            ToWorker::Cancel | ToWorker::Interrupt => {}
            ToWorker::Open(..)
            | ToWorker::Pack
            | ToWorker::Content
            | ToWorker::Resume(..)
            | ToWorker::Turn(..)
            | ToWorker::Close(_)
            | ToWorker::Run(..)
            | ToWorker::BlobStored { .. }
            | ToWorker::NetworkAnswered
            | ToWorker::CallerAnswered
            | ToWorker::Refused(_) => return Err(WorkerError::Unexpected),
        }
    }
}

fn ensure_within(files: &[PackedFile], content: &Payload) -> Result<(), WorkerError> {
    let end = content.size().as_u64();
    let fits = |file: &PackedFile| file.offset.checked_add(file.size).is_some_and(|to| to <= end);
    if files.iter().all(fits) { Ok(()) } else { Err(WorkerError::Unexpected) }
}

/// A turn, and the content of the file that it writes.
type TurnWithContent = (Turn, Option<Payload>);

/// Gives an open guest a turn. If that was a cell, or has changed files, the gateway gets the guest's state
/// as well.
fn give_turn<R: Runner>(
    channel: &Rc<RefCell<Channel>>,
    runner: &mut R,
    (guests, number, turn): (&Rc<OpenGuests<R::Guest>>, GuestNumber, TurnWithContent),
    last_reset: &mut Option<Duration>,
) -> Result<(), WorkerError> {
    let watch = Stopwatch::start();
    let (is_cell, saves_state) = (turn.0.cell.is_some(), turn.0.saves_state());
    let Opened { guest, resumed } = guests.take(number)?;
    let mut guest = match guest {
        Ok(guest) => guest,
        Err(refused) => {
            let reason = CauseChain(&refused).to_string();
            guests.put(number, Opened::new(Err(refused)));
            return Ok(channel.borrow_mut().send(&FromWorker::NotResumed { reason }, &[])?);
        }
    };
    if resumed.is_some() {
        channel.borrow_mut().send(&FromWorker::Resumed, &[])?;
    }
    let host = ChannelHost::new(channel);
    let others = Rc::<OpenGuests<R::Guest>>::clone(guests);
    let host = if is_cell { host.of_cell(number, others) } else { host };
    let order = (&mut guest, turn, host);
    let before = Before { last_reset: last_reset.take(), resumed };
    let performed = perform(channel, runner, order, (watch, before))?;
    match performed {
        Performed::Closed => {
            *last_reset = Some(close(channel, runner, guest)?);
            return Ok(());
        }
        Performed::Unchanged => channel.borrow_mut().send(&FromWorker::Unchanged, &[])?,
        Performed::Whole if saves_state => park(&mut channel.borrow_mut(), runner, &mut guest)?,
        Performed::Whole | Performed::Over => {}
    }
    guests.put(number, Opened::new(Ok(guest)));
    Ok(())
}

/// What has become of the guest of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Performed {
    /// It was closed while it was held, and nothing was sent.
    Closed,
    /// It can have no other turn.
    Over,
    /// It can have another turn, and a change of its files was refused.
    Unchanged,
    /// It can have another turn.
    Whole,
}

/// Performs a turn and sends its outcome, which says how long what came before it took.
fn perform<R: Runner>(
    channel: &Rc<RefCell<Channel>>,
    runner: &mut R,
    (guest, (turn, content), host): (&mut R::Guest, TurnWithContent, ChannelHost),
    (watch, before): (Stopwatch, Before),
) -> Result<Performed, WorkerError> {
    let writes = matches!(turn.files.as_deref(), Some(FilesOrder::Write { .. }));
    if writes != content.is_some() {
        return Err(WorkerError::Unexpected);
    }
    let end = match turn.files.as_deref() {
        None => runner.turn(guest, &turn, host.clone(), watch),
        Some(order) => {
            let order = (order, content.unwrap_or(Payload::None));
            runner.files(guest, order, host.clone(), watch)
        }
    };
    let end = end.map_err(WorkerError::Sandbox)?;
    if host.close()? == LeftChannel::Closed {
        return Ok(Performed::Closed);
    }
    let TurnEnd { mut outcome, output, can_go_on } = end;
    (outcome.usage.last_reset, outcome.usage.resumed) = (before.last_reset, before.resumed);
    let changes = turn.files.as_deref().filter(|order| order.changes());
    let answer = changes.and_then(|order| FilesAnswer::read(&output, order));
    let is_refused = matches!(answer, Some(FilesAnswer::Refused(_)));
    let done = FromWorker::Done { outcome: Box::new(outcome), can_go_on };
    channel.borrow_mut().send(&done, &output)?;
    Ok(match (can_go_on, is_refused) {
        (false, _) => Performed::Over,
        (true, true) => Performed::Unchanged,
        (true, false) => Performed::Whole,
    })
}

/// Sends the state of a guest that is whole, or why it cannot be saved.
fn park<R: Runner>(
    channel: &mut Channel,
    runner: &mut R,
    guest: &mut R::Guest,
) -> Result<(), WorkerError> {
    let reason = match runner.checkpoint(guest).map_err(WorkerError::Sandbox)? {
        Ok(pack) if ByteCount::from(pack.bytes.len()) > PAYLOAD_MAX => {
            format!("the state of the guest is larger than {PAYLOAD_MAX}")
        }
        Ok(pack) => match channel.send(&FromWorker::Parked(pack.facts), &pack.bytes) {
            // Nothing was sent.
            Err(ChannelError::Content(cause)) => {
                format!("the state of the guest cannot be sent: {cause}")
            }
            sent => return Ok(sent?),
        },
        Err(refused) => CauseChain(&refused).to_string(),
    };
    Ok(channel.send(&FromWorker::NotParked { reason }, &[])?)
}

/// Closes a guest, unless it could not be resumed. Returns how long that took.
fn close_open<R: Runner>(
    channel: &Rc<RefCell<Channel>>,
    runner: &mut R,
    open: Opened<R::Guest>,
) -> Result<Option<Duration>, WorkerError> {
    match open.guest {
        Ok(guest) => close(channel, runner, guest).map(Some),
        Err(_not_resumed) => Ok(None),
    }
}

/// Closes a guest, and returns how long that took.
fn close<R: Runner>(
    channel: &Rc<RefCell<Channel>>,
    runner: &mut R,
    guest: R::Guest,
) -> Result<Duration, WorkerError> {
    let begun = Instant::now();
    runner.close(guest).map_err(|error| decline(&mut channel.borrow_mut(), error))?;
    Ok(begun.elapsed())
}

/// Ends the worker before it takes more work. The gateway may have sent the next run already. The
/// message states that this run was not begun, so that another worker can have it.
fn decline(channel: &mut Channel, error: RunnerError) -> WorkerError {
    let reason = "the last run could not be cleaned up".to_owned();
    // A gateway that is gone needs no answer.
    channel.send(&FromWorker::Failed { reason }, &[]).ok();
    WorkerError::Sandbox(error)
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, socketpair};

    use super::*;
    use crate::scripted::{ScriptedRunner, script};
    use wardian_formats::job::attachment::{Attachment, Owner};
    use wardian_formats::job::frame;
    use wardian_formats::job::message::{INLINE_MAX, Order, Refusal};
    use wardian_formats::job::outcome::{RunFailure, RunOutcome};
    use wardian_formats::job::session::asking::JsonText;
    use wardian_formats::job::session::cell::CellOrder;
    use wardian_formats::job::session::checkpoint::PackFacts;
    use wardian_formats::job::socket::{self, Incoming};
    use wardian_sandbox::memory::PayloadBytes;
    use wardian_vocabulary::ids::{BlobId, Digest, WorkspacePath};

    const ONE: GuestNumber = GuestNumber(1);
    const TWO: GuestNumber = GuestNumber(2);

    fn shared(content: AttachedContent) -> Attachment {
        Attachment { owner: Owner::Shared, content }
    }

    fn run_of(source: &str) -> ToWorker {
        let (setup, turn) = script(source);
        ToWorker::Run(setup, turn)
    }

    /// A worker on a separate thread, and the gateway's end of its socket.
    struct Gateway {
        socket: OwnedFd,
        incoming: Incoming,
        end: mpsc::Receiver<Result<(), WorkerError>>,
    }

    impl Gateway {
        fn open() -> Self {
            let flags = SocketFlags::CLOEXEC;
            let (near, far) =
                socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
            let (report, end) = mpsc::channel();
            thread::spawn(move || {
                report.send(attend(Channel::new(far), &mut ScriptedRunner::default())).unwrap();
            });
            Self { socket: near, incoming: Incoming::default(), end }
        }

        fn tell(&self, message: &ToWorker) {
            self.send(&frame::encode(message, &[], false).unwrap());
        }

        fn run(&self, source: &str) {
            let (setup, turn) = script(source);
            self.send(&frame::encode(&Order::Run(&setup, &turn), &[], false).unwrap());
        }

        /// Hands over a pack: within its frame, or as a memory file.
        fn give(&self, pack: &[u8]) {
            if pack.len() <= INLINE_MAX {
                return self.send(&frame::encode(&ToWorker::Pack, pack, false).unwrap());
            }
            let (file, size) = (socket::share(pack).unwrap(), ByteCount::from(pack.len()));
            let bytes = frame::encode_shared(&ToWorker::Pack, size).unwrap();
            let sent = socket::send(self.socket.as_fd(), &bytes, Some(file.as_fd()));
            assert_eq!(sent.unwrap(), bytes.len());
        }

        fn resume(&self) {
            let (setup, _) = script("");
            self.send(&frame::encode(&Order::Resume(ONE, &setup), &[], false).unwrap());
        }

        /// Runs a cell in the open guest, and returns the first line of its log and its pack.
        fn cell(&mut self, source: &str) -> (String, PackFacts, Vec<u8>) {
            self.tell(&cell_of(source));
            let (outcome, _) = self.outcome();
            let log = outcome.logs.chunks.first().map(|chunk| chunk.text.clone());
            let (FromWorker::Parked(facts), payload) = self.hear() else {
                panic!("no pack followed");
            };
            let pack = PayloadBytes::open(payload).unwrap().as_ref().to_vec();
            assert_eq!((facts.digest, facts.size), (Digest::of(&pack), pack.len().into()));
            (log.unwrap_or_default(), facts, pack)
        }

        fn send(&self, bytes: &[u8]) {
            assert_eq!(socket::send(self.socket.as_fd(), bytes, None).unwrap(), bytes.len());
        }

        /// The next message that is not only about packs.
        fn hear(&mut self) -> (FromWorker, Payload) {
            loop {
                let heard = self.hear_any();
                if !matches!(heard.0, FromWorker::Resumed) {
                    return heard;
                }
            }
        }

        fn hear_any(&mut self) -> (FromWorker, Payload) {
            loop {
                if let Some(found) = self.incoming.take().unwrap() {
                    return found;
                }
                let flags = RecvFlags::empty();
                assert!(self.incoming.receive(self.socket.as_fd(), flags).unwrap().bytes > 0);
            }
        }

        fn outcome(&mut self) -> (RunOutcome, Payload) {
            match self.hear() {
                (FromWorker::Done { outcome, .. }, output) => (*outcome, output),
                (other, _) => panic!("said something else: {other:?}"),
            }
        }

        /// Closes the gateway's end and returns how the worker ended.
        fn close(self) -> Result<(), WorkerError> {
            drop(self.socket);
            self.end.recv_timeout(Duration::from_secs(10)).expect("the worker did not end")
        }
    }

    #[test]
    fn runs_follow_each_other_and_their_outputs_arrive() {
        let mut gateway = Gateway::open();
        gateway.run("log hello\nreturn {}");
        let (outcome, output) = gateway.outcome();
        assert_eq!((outcome.end, outcome.logs.chunks.len()), (Ok(()), 1));
        assert!(matches!(output, Payload::Inline(bytes) if bytes == b"{}"));

        let large = INLINE_MAX + 1;
        gateway.run(&format!("return-of {large}"));
        let (_, output) = gateway.outcome();
        assert!(matches!(output, Payload::Shared(_, size) if size == ByteCount::from(large)));
        assert!(gateway.close().is_ok());
    }

    fn turn_of(source: &str) -> ToWorker {
        ToWorker::Turn(ONE, script(source).1)
    }

    fn cell_of(source: &str) -> ToWorker {
        cell_in(ONE, source)
    }

    fn cell_in(guest: GuestNumber, source: &str) -> ToWorker {
        let (_, turn) = script(source);
        let cell = Some(CellOrder::new(1, false));
        ToWorker::Turn(guest, Box::new(Turn { cell, ..*turn }))
    }

    #[test]
    fn a_guest_keeps_its_state_from_turn_to_turn_until_it_is_closed() {
        let mut gateway = Gateway::open();
        for kept in ["one", "two"] {
            gateway.tell(&ToWorker::Open(ONE, script("").0));
            let turns = [
                (format!("keep {kept}\nreturn {{}}"), true),
                ("keep more\nblob text/plain x".to_owned(), true),
                ("kept\nreturn {}".to_owned(), true),
                ("kept\ntrap".to_owned(), false),
            ];
            for (number, (source, is_whole)) in turns.iter().enumerate() {
                gateway.tell(&turn_of(source));
                if number == 1 {
                    // A turn that ends with an exception leaves the guest whole.
                    gateway.hear();
                    let refusal = Refusal { error_type: "X".into(), message: "no".into() };
                    gateway.tell(&ToWorker::Refused(refusal));
                }
                let (FromWorker::Done { outcome, can_go_on }, _) = gateway.hear() else {
                    panic!("said something else");
                };
                assert_eq!(can_go_on, *is_whole, "{source}");
                let logs: Vec<&str> =
                    outcome.logs.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
                let expected = format!("{kept} more");
                assert_eq!(logs.first().copied().unwrap_or(&expected), expected, "{source}");
                assert_eq!(logs.len(), usize::from(number > 1));
                let is_first = number == 0 && kept == "two";
                assert_eq!(outcome.usage.last_reset.is_some(), is_first, "{number} {kept}");
            }
            gateway.tell(&ToWorker::Close(ONE));
        }
        gateway.run("kept\nreturn {}");
        assert_eq!(gateway.outcome().0.logs.chunks[0].text, "", "a run has a guest of its own");
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn a_guest_goes_on_from_its_packs_in_another_worker() {
        let mut packs = Vec::new();
        let mut gateway = Gateway::open();
        gateway.tell(&ToWorker::Open(ONE, script("").0));
        for (number, long) in [(1, 0), (2, INLINE_MAX), (3, 0)] {
            let (_, facts, pack) = gateway.cell(&format!("keep {number}{}", "x".repeat(long)));
            assert_eq!((facts.sequence, pack.len() > INLINE_MAX), (number, long > 0));
            packs.push(pack);
        }
        drop(gateway);
        // The chain is continued, and any number of guests begin at its end.
        for _ in 0..2 {
            let mut gateway = Gateway::open();
            packs.iter().for_each(|pack| gateway.give(pack));
            gateway.resume();
            let (log, facts, pack) = gateway.cell("keep 4\nkept");
            let expected = format!("1 2{} 3 4", "x".repeat(INLINE_MAX));
            assert!(log == expected, "{} bytes", log.len());
            assert_eq!((facts.sequence, facts.base), (4, Some(Digest::of(&packs[2]))));
            assert!(pack.len() < INLINE_MAX, "only what is new is in it");
            gateway.tell(&ToWorker::Close(ONE));
            gateway.run("kept\nreturn {}");
            assert_eq!(gateway.outcome().0.logs.chunks[0].text, "");
            assert!(gateway.close().is_ok());
        }
    }

    #[test]
    fn the_first_turn_of_a_guest_says_that_its_packs_are_read() {
        let mut gateway = Gateway::open();
        gateway.tell(&ToWorker::Open(ONE, script("").0));
        gateway.tell(&cell_of("keep 1"));
        assert!(matches!(gateway.hear_any().0, FromWorker::Done { .. }), "it has no packs");
        let (FromWorker::Parked(_), payload) = gateway.hear() else { panic!("no pack followed") };
        let pack = PayloadBytes::open(payload).unwrap().as_ref().to_vec();
        gateway.tell(&ToWorker::Close(ONE));
        gateway.give(&pack);
        gateway.resume();
        for is_first in [true, false] {
            gateway.tell(&cell_of("kept"));
            let heard = gateway.hear_any();
            assert_eq!(matches!(heard, (FromWorker::Resumed, Payload::None)), is_first);
            if is_first {
                assert!(matches!(gateway.hear_any().0, FromWorker::Done { .. }));
            }
            assert!(matches!(gateway.hear_any().0, FromWorker::Parked(_)));
        }
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn a_refused_change_of_files_leaves_the_guest_where_it_was() {
        let mut gateway = Gateway::open();
        gateway.tell(&ToWorker::Open(ONE, script("").0));
        let (_, first, pack) = gateway.cell("keep 1");
        let change = |order| {
            let limits = wardian_formats::job::limits::RunLimits::DEFAULT.split().1;
            ToWorker::Turn(ONE, Box::new(Turn::of_files(order, limits)))
        };
        let remove = change(FilesOrder::Remove { path: "none".to_owned() });
        for _ in 0..2 {
            gateway.tell(&remove);
            let heard = gateway.hear();
            assert!(matches!(heard.0, FromWorker::Done { can_go_on: true, .. }), "{heard:?}");
            assert!(matches!(gateway.hear(), (FromWorker::Unchanged, Payload::None)));
        }
        let (log, next, _) = gateway.cell("kept");
        assert_eq!((log.as_str(), next.sequence), ("1", first.sequence + 1));
        assert_eq!(next.base, Some(Digest::of(&pack)), "it goes on after the pack before");
        // What is done in part leaves a guest that is of no use, and nothing follows.
        let path = WorkspacePath::parse("full").unwrap();
        gateway.send(&frame::encode(&ToWorker::Content, b"x", false).unwrap());
        gateway.tell(&change(FilesOrder::Write { path }));
        assert!(matches!(gateway.hear().0, FromWorker::Done { can_go_on: false, .. }));
        gateway.tell(&ToWorker::Close(ONE));
        gateway.run("log last\nreturn {}");
        assert_eq!(gateway.outcome().0.logs.chunks[0].text, "last");
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn packs_that_make_no_guest_are_the_end_of_its_first_turn() {
        let mut gateway = Gateway::open();
        gateway.tell(&ToWorker::Open(ONE, script("").0));
        let packs = ["keep 1", "keep 2"].map(|source| gateway.cell(source).2);
        gateway.tell(&ToWorker::Close(ONE));
        let mut damaged = packs[0].clone();
        *damaged.last_mut().unwrap() ^= 1;
        let refused: [(Vec<&[u8]>, &str); 4] = [
            (vec![], "there is no pack"),
            (vec![&damaged], "a pack is damaged"),
            (vec![&packs[1]], "the pack that pack 2 continues is missing"),
            (vec![&packs[0], &packs[1], &packs[0]], "pack 1 does not continue"),
        ];
        for (chain, expected) in refused {
            chain.iter().for_each(|pack| gateway.give(pack));
            gateway.resume();
            for _ in 0..2 {
                gateway.tell(&cell_of("keep x"));
                let (FromWorker::NotResumed { reason }, Payload::None) = gateway.hear() else {
                    panic!("said something else");
                };
                assert!(reason.contains(expected), "{reason}");
            }
            // Nothing is left of it, and the next one has its own packs.
            gateway.tell(&ToWorker::Close(ONE));
            gateway.give(&packs[0]);
            gateway.resume();
            assert_eq!(gateway.cell("kept").0, "1");
            gateway.tell(&ToWorker::Close(ONE));
        }
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn nothing_follows_a_turn_that_is_no_cell_or_has_ended_its_guest() {
        let mut gateway = Gateway::open();
        let cell = Some(CellOrder::new(1, false));
        for _ in 0..2 {
            // In a run, a cell is the only one of its guest.
            let (setup, turn) = script("return {}");
            let cell = cell.clone();
            gateway.tell(&ToWorker::Run(setup, Box::new(Turn { cell, ..*turn })));
            gateway.outcome();
            gateway.tell(&ToWorker::Open(ONE, script("").0));
            for turn in [turn_of("return {}"), cell_of("trap")] {
                gateway.tell(&turn);
                gateway.outcome();
            }
            gateway.tell(&ToWorker::Close(ONE));
        }
        gateway.run("log last\nreturn {}");
        assert_eq!(gateway.outcome().0.logs.chunks[0].text, "last");
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn a_guest_that_cannot_be_parked_is_no_fault_of_the_worker() {
        let mut gateway = Gateway::open();
        gateway.tell(&ToWorker::Open(ONE, script("").0));
        for _ in 0..2 {
            gateway.tell(&cell_of("unparkable\nreturn {}"));
            assert_eq!(gateway.outcome().0.end, Ok(()));
            let (FromWorker::NotParked { reason }, Payload::None) = gateway.hear() else {
                panic!("said something else");
            };
            assert!(reason.contains("cannot be parked"), "{reason}");
        }
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn each_guest_keeps_its_own_state_beside_others_and_runs() {
        let mut gateway = Gateway::open();
        let numbers: Vec<GuestNumber> = (1..=5).map(GuestNumber).collect();
        for number in &numbers {
            gateway.tell(&ToWorker::Open(*number, script("").0));
        }
        for round in 0..3 {
            for number in &numbers {
                gateway.tell(&cell_in(*number, &format!("kept\nkeep {}.{round}", number.0)));
                let (outcome, _) = gateway.outcome();
                let before: Vec<String> = (0..round).map(|r| format!("{}.{r}", number.0)).collect();
                assert_eq!(outcome.logs.chunks[0].text, before.join(" "));
                let (FromWorker::Parked(facts), _) = gateway.hear() else {
                    panic!("no pack followed");
                };
                assert_eq!(facts.sequence, round + 1, "each has its own chain");
                gateway.run("kept\nreturn {}");
                assert_eq!(gateway.outcome().0.logs.chunks[0].text, "", "a run has its own");
            }
        }
        // The end of one leaves the others, and its number can be given again.
        gateway.tell(&cell_in(TWO, "trap"));
        gateway.outcome();
        gateway.tell(&ToWorker::Close(TWO));
        gateway.tell(&ToWorker::Open(TWO, script("").0));
        for (number, expected) in [(ONE, "1.0 1.1 1.2"), (TWO, ""), (GuestNumber(5), "5.0 5.1 5.2")]
        {
            gateway.tell(&cell_in(number, "kept"));
            assert_eq!(gateway.outcome().0.logs.chunks[0].text, expected);
            gateway.hear();
        }
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn others_are_closed_while_a_cell_is_held_and_only_its_guest_goes_on() {
        let held_with = |gateway: &mut Gateway| {
            gateway.tell(&ToWorker::Open(ONE, script("").0));
            gateway.tell(&ToWorker::Open(TWO, script("").0));
            gateway.tell(&cell_of("keep one\nask\nreturn 1"));
            assert!(gateway.outcome().0.cell.is_some_and(|cell| cell.is_held));
        };
        let answers = |number| {
            let ToWorker::Turn(_, turn) = cell_in(number, "") else { panic!("no turn") };
            let text = serde_json::value::RawValue::from_string("[7]".to_owned()).unwrap();
            let answers = Some(JsonText::new(text));
            let cell = Some(CellOrder { answers, ..CellOrder::new(1, false) });
            ToWorker::Turn(number, Box::new(Turn { cell, ..*turn }))
        };
        let mut gateway = Gateway::open();
        held_with(&mut gateway);
        gateway.tell(&ToWorker::Close(TWO));
        gateway.tell(&answers(ONE));
        assert_eq!(gateway.outcome().0.logs.chunks[0].text, "[7]");
        assert!(matches!(gateway.hear().0, FromWorker::Parked(_)));
        gateway.tell(&ToWorker::Open(TWO, script("").0));
        gateway.tell(&cell_in(TWO, "kept"));
        assert_eq!(gateway.outcome().0.logs.chunks[0].text, "", "the other one was closed");
        gateway.hear();
        gateway.tell(&cell_of("kept"));
        assert_eq!(gateway.outcome().0.logs.chunks[0].text, "one");
        gateway.hear();
        assert!(gateway.close().is_ok());
        // The guest itself is closed while its cell is held.
        let mut gateway = Gateway::open();
        held_with(&mut gateway);
        gateway.tell(&ToWorker::Close(ONE));
        gateway.tell(&cell_in(TWO, "kept"));
        assert_eq!(gateway.outcome().0.logs.chunks[0].text, "", "the other one goes on");
        gateway.hear();
        assert!(gateway.close().is_ok());
        let wrong = [answers(TWO), ToWorker::Close(GuestNumber(3)), run_of("return {}")];
        for message in wrong {
            let mut gateway = Gateway::open();
            held_with(&mut gateway);
            gateway.tell(&message);
            assert!(gateway.close().is_err(), "it went on after {message:?}");
        }
    }

    #[test]
    fn a_file_is_written_to_the_guest_of_the_next_turn_alone() {
        let mut gateway = Gateway::open();
        gateway.tell(&ToWorker::Open(ONE, script("").0));
        let mut write = |guest: GuestNumber, content: &[u8], opens: bool| {
            gateway.send(&frame::encode(&ToWorker::Content, content, false).unwrap());
            if opens {
                gateway.tell(&ToWorker::Open(guest, script("").0));
            }
            let order = FilesOrder::Write { path: WorkspacePath::parse("a").unwrap() };
            let turn = Turn::of_files(order, script("").1.limits);
            gateway.tell(&ToWorker::Turn(guest, Box::new(turn)));
            assert_eq!(gateway.outcome().0.end, Ok(()));
            let (FromWorker::Parked(facts), _) = gateway.hear() else { panic!("no pack followed") };
            facts.sequence
        };
        // The content precedes the opening of its guest.
        assert_eq!(write(TWO, b"x", true), 1);
        assert_eq!(write(ONE, b"y", false), 1);
        assert_eq!(write(TWO, b"z", false), 2);
        for (number, expected) in [(ONE, "a=y"), (TWO, "a=x a=z")] {
            gateway.tell(&cell_in(number, "kept"));
            assert_eq!(gateway.outcome().0.logs.chunks[0].text, expected);
            gateway.hear();
        }
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn orders_for_guests_that_do_not_fit_end_the_worker() {
        let setup = || script("").0;
        let open = || ToWorker::Open(ONE, setup());
        let pack = || ToWorker::Pack;
        let resume = || ToWorker::Resume(ONE, setup());
        let files =
            |order| ToWorker::Turn(ONE, Box::new(Turn::of_files(order, script("").1.limits)));
        let write = || files(FilesOrder::Write { path: WorkspacePath::parse("a").unwrap() });
        let look = || files(FilesOrder::Read { path: "a".to_owned() });
        let fails: [Vec<ToWorker>; 21] = [
            vec![open(), write()],
            vec![open(), ToWorker::Content, look()],
            vec![open(), ToWorker::Content, turn_of("return {}")],
            vec![open(), ToWorker::Content, write(), write()],
            vec![open(), ToWorker::Content, ToWorker::Close(ONE)],
            vec![ToWorker::Content, ToWorker::Content],
            vec![pack(), ToWorker::Content],
            vec![ToWorker::Content, run_of("return {}")],
            vec![open(), resume()],
            vec![resume(), resume()],
            vec![pack(), open()],
            vec![pack(), run_of("return {}")],
            vec![open(), pack(), turn_of("return {}")],
            vec![open(), pack(), ToWorker::Close(ONE)],
            (0..=MOST_IN_CHAIN).map(|_| pack()).collect(),
            vec![turn_of("return {}")],
            vec![ToWorker::Close(ONE)],
            vec![open(), open()],
            vec![open(), ToWorker::Close(TWO)],
            vec![open(), ToWorker::Turn(TWO, script("return {}").1)],
            vec![open(), ToWorker::Close(ONE), ToWorker::Close(ONE)],
        ];
        for messages in fails {
            let gateway = Gateway::open();
            let mut bytes = Vec::new();
            for message in &messages {
                frame::encode_into(&mut bytes, message, &[], false).unwrap();
            }
            gateway.send(&bytes);
            let Gateway { socket: _socket, end, .. } = gateway;
            let ended = end.recv_timeout(Duration::from_secs(10)).expect("it went on");
            assert!(matches!(ended, Err(WorkerError::Unexpected)), "{messages:?}: {ended:?}");
        }
    }

    #[test]
    fn an_outcome_says_how_long_the_reset_before_it_took() {
        let mut gateway = Gateway::open();
        for number in 0..3 {
            gateway.run("return {}");
            let last_reset = gateway.outcome().0.usage.last_reset;
            assert_eq!(last_reset.is_some(), number > 0, "{number}: {last_reset:?}");
        }
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn an_outcome_says_how_long_it_took_to_make_its_guest_from_packs() {
        let mut gateway = Gateway::open();
        gateway.tell(&ToWorker::Open(ONE, script("").0));
        let pack = gateway.cell("keep 1").2;
        gateway.tell(&ToWorker::Close(ONE));
        gateway.tell(&ToWorker::Open(TWO, script("").0));
        gateway.give(&pack);
        gateway.resume();
        // Other guests and runs had nothing of it.
        for (guest, is_first) in [(TWO, false), (ONE, true), (ONE, false)] {
            gateway.run("return {}");
            assert_eq!(gateway.outcome().0.usage.resumed, None);
            gateway.tell(&cell_in(guest, "kept"));
            let (FromWorker::Done { outcome, .. }, _) = gateway.hear() else {
                panic!("said something else");
            };
            assert_eq!(outcome.usage.resumed.is_some(), is_first);
            assert!(matches!(gateway.hear().0, FromWorker::Parked(_)));
        }
        gateway.tell(&ToWorker::Close(ONE));
        gateway.run("return {}");
        assert_eq!(gateway.outcome().0.usage.resumed, None);
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn a_blob_is_stored_or_refused_by_the_gateway() {
        let mut gateway = Gateway::open();
        gateway.run("blob text/plain one\nblob text/plain two\nreturn {}");
        let (asked, content) = gateway.hear();
        assert!(matches!(asked, FromWorker::WriteBlob { kind } if kind == "text/plain"));
        assert!(matches!(content, Payload::Inline(bytes) if bytes == b"one"));
        gateway.tell(&ToWorker::BlobStored { id: BlobId::of_digest(&Digest::of(b"one")) });
        gateway.hear();
        let refusal = Refusal { error_type: "QuotaExceeded".into(), message: "no room".into() };
        gateway.tell(&ToWorker::Refused(refusal));
        let failure = gateway.outcome().0.end.unwrap_err();
        assert_eq!(
            (failure.error_type(), failure.to_string().as_str()),
            ("QuotaExceeded", "no room")
        );
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn a_cancelled_run_ends_and_the_worker_goes_on() {
        let mut gateway = Gateway::open();
        gateway.run("wait");
        gateway.tell(&ToWorker::Cancel);
        assert_eq!(gateway.outcome().0.end, Err(RunFailure::Cancelled));

        // The cancellation arrives as the answer to a request.
        gateway.run("blob text/plain x\nblob text/plain y");
        gateway.hear();
        gateway.tell(&ToWorker::Cancel);
        assert_eq!(gateway.outcome().0.end.unwrap_err().error_type(), "Cancelled");

        // A late cancellation does not affect a later run.
        gateway.tell(&ToWorker::Cancel);
        gateway.run("return {}");
        assert_eq!(gateway.outcome().0.end, Ok(()));
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn an_interrupted_turn_ends_by_itself_and_the_guest_goes_on() {
        let mut gateway = Gateway::open();
        gateway.tell(&ToWorker::Open(ONE, script("").0));
        // Before a turn it means nothing.
        gateway.tell(&ToWorker::Interrupt);
        gateway.tell(&turn_of("keep one\nreturn {}"));
        assert_eq!(gateway.outcome().0.end, Ok(()));
        gateway.tell(&turn_of("interruptible"));
        gateway.tell(&ToWorker::Interrupt);
        assert_eq!(gateway.outcome().0.end.unwrap_err().error_type(), "KeyboardInterrupt");
        // It comes before the answer to a request.
        gateway.tell(&turn_of("blob text/plain x\ninterruptible"));
        gateway.hear();
        gateway.tell(&ToWorker::Interrupt);
        gateway.tell(&ToWorker::BlobStored { id: BlobId::of_digest(&Digest::of(b"x")) });
        assert_eq!(gateway.outcome().0.end.unwrap_err().error_type(), "KeyboardInterrupt");
        gateway.tell(&ToWorker::Interrupt);
        gateway.tell(&turn_of("kept\nreturn {}"));
        assert_eq!(gateway.outcome().0.logs.chunks[0].text, "one");
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn a_worker_ends_with_gateway_whether_idle_or_busy() {
        assert!(Gateway::open().close().is_ok());

        let gateway = Gateway::open();
        gateway.run("wait");
        assert!(matches!(gateway.close(), Err(WorkerError::Channel(ChannelError::Gone))));

        let mut gateway = Gateway::open();
        gateway.run("blob text/plain x");
        gateway.hear();
        assert!(matches!(gateway.close(), Err(WorkerError::Channel(ChannelError::Gone))));

        let gateway = Gateway::open();
        gateway.send(&frame::encode(&ToWorker::Cancel, &[], false).unwrap()[..5]);
        assert!(matches!(gateway.close(), Err(WorkerError::Channel(ChannelError::Gone))));
    }

    #[test]
    fn fail_stop_after_an_unexpected_message() {
        let outside = PackedFile { path: "a".into(), offset: u64::MAX, size: 2 };
        let digest = Digest::of(b"skill");
        let messages = [
            ToWorker::BlobStored { id: BlobId::of_digest(&digest) },
            ToWorker::Refused(Refusal { error_type: "X".into(), message: "x".into() }),
            ToWorker::Attach(shared(AttachedContent::Skill { digest, files: vec![outside] })),
            run_of("break"),
        ];
        for message in messages {
            let gateway = Gateway::open();
            let mut bytes = frame::encode(&message, &[], false).unwrap();
            frame::encode_into(&mut bytes, &run_of("return {}"), &[], false).unwrap();
            gateway.send(&bytes);
            let Gateway { socket, mut incoming, end } = gateway;
            let ended = end.recv_timeout(Duration::from_secs(10)).expect("it went on");
            assert!(ended.is_err(), "{message:?}");
            let more = incoming.receive(socket.as_fd(), RecvFlags::empty());
            assert!(!more.is_ok_and(|arrival| arrival.bytes > 0), "it ran after {message:?}");
        }
    }

    #[test]
    fn fail_stop_when_content_cannot_be_kept() {
        let id = BlobId::of_digest(&Digest::of(b"blob"));
        let (digest, files) = (Digest::of(b"skill"), Vec::new());
        for content in [AttachedContent::Blob { id }, AttachedContent::Skill { digest, files }] {
            let message = ToWorker::Attach(shared(content));
            let gateway = Gateway::open();
            let shorter = socket::share(b"four").unwrap();
            let bytes = frame::encode_shared(&message, ByteCount::bytes(5)).unwrap();
            socket::send(gateway.socket.as_fd(), &bytes, Some(shorter.as_fd())).unwrap();
            let end = gateway.close();
            assert!(matches!(end, Err(WorkerError::Sandbox(_))), "{message:?}: {end:?}");
        }
    }
}
