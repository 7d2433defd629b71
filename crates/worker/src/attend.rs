//! The main loop of a worker: carries out the gateway's orders, for one guest at a time.
//!
//! A session opens a guest, gives it turns, and closes it. A run is the same with one turn, in one
//! message.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::error::WorkerError;
use crate::host::ChannelHost;
use crate::link::channel::Channel;
use crate::runner::{Runner, RunnerError};
use wardian_formats::job::Turn;
use wardian_formats::job::attachment::{AttachedContent, PackedFile};
use wardian_formats::job::message::{FromWorker, Payload, ToWorker};
use wardian_sandbox::{Stopwatch, TurnEnd};

/// Carries out the gateway's messages until the gateway closes its end.
///
/// # Errors
///
/// The gateway or the sandbox broke.
pub fn attend(channel: Channel, runner: &mut impl Runner) -> Result<(), WorkerError> {
    let channel = Rc::new(RefCell::new(channel));
    let mut last_reset = None;
    let mut open = None;
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
            ToWorker::Open(setup) if open.is_none() => {
                open = Some(runner.open((*setup).into()).map_err(WorkerError::Sandbox)?);
            }
            ToWorker::Turn(turn) => {
                let guest = open.as_mut().ok_or(WorkerError::Unexpected)?;
                let watch = Stopwatch::start();
                perform(&channel, runner, (guest, *turn), (watch, last_reset.take()))?;
            }
            ToWorker::Close => {
                let guest = open.take().ok_or(WorkerError::Unexpected)?;
                last_reset = Some(close(&channel, runner, guest)?);
            }
            ToWorker::Run(setup, turn) if open.is_none() => {
                let watch = Stopwatch::start();
                let mut guest = runner.open((*setup).into()).map_err(WorkerError::Sandbox)?;
                perform(&channel, runner, (&mut guest, *turn), (watch, last_reset.take()))?;
                // The gateway has its answer, so cleaning up does not delay the caller.
                last_reset = Some(close(&channel, runner, guest)?);
            }
            // The turn ended while the message was on its way.
            ToWorker::Cancel | ToWorker::Interrupt => {}
            ToWorker::Open(_)
            | ToWorker::Run(..)
            | ToWorker::BlobStored { .. }
            | ToWorker::NetworkAnswered
            | ToWorker::Refused(_) => return Err(WorkerError::Unexpected),
        }
    }
}

fn ensure_within(files: &[PackedFile], content: &Payload) -> Result<(), WorkerError> {
    let end = content.size().as_u64();
    let fits = |file: &PackedFile| file.offset.checked_add(file.size).is_some_and(|to| to <= end);
    if files.iter().all(fits) { Ok(()) } else { Err(WorkerError::Unexpected) }
}

/// Performs a turn and sends its outcome, which says how long the last reset before it took.
fn perform<R: Runner>(
    channel: &Rc<RefCell<Channel>>,
    runner: &mut R,
    (guest, turn): (&mut R::Guest, Turn),
    (watch, last_reset): (Stopwatch, Option<Duration>),
) -> Result<(), WorkerError> {
    let host = ChannelHost::new(channel);
    let end = runner.turn(guest, &turn, host.clone(), watch).map_err(WorkerError::Sandbox)?;
    host.close()?;
    let TurnEnd { mut outcome, output, can_go_on } = end;
    outcome.usage.last_reset = last_reset;
    let done = FromWorker::Done { outcome: Box::new(outcome), can_go_on };
    channel.borrow_mut().send(&done, &output)?;
    Ok(())
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
    use crate::link::error::ChannelError;
    use crate::scripted::{ScriptedRunner, script};
    use wardian_formats::job::attachment::{Attachment, Owner};
    use wardian_formats::job::frame;
    use wardian_formats::job::message::{INLINE_MAX, Order, Refusal};
    use wardian_formats::job::outcome::{RunFailure, RunOutcome};
    use wardian_formats::job::socket::{self, Incoming};
    use wardian_vocabulary::ids::{BlobId, Digest};
    use wardian_vocabulary::units::ByteCount;

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

        fn send(&self, bytes: &[u8]) {
            assert_eq!(socket::send(self.socket.as_fd(), bytes, None).unwrap(), bytes.len());
        }

        fn hear(&mut self) -> (FromWorker, Payload) {
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
        ToWorker::Turn(script(source).1)
    }

    #[test]
    fn a_guest_keeps_its_state_from_turn_to_turn_until_it_is_closed() {
        let mut gateway = Gateway::open();
        for kept in ["one", "two"] {
            gateway.tell(&ToWorker::Open(script("").0));
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
            gateway.tell(&ToWorker::Close);
        }
        gateway.run("kept\nreturn {}");
        assert_eq!(gateway.outcome().0.logs.chunks[0].text, "", "a run has a guest of its own");
        assert!(gateway.close().is_ok());
    }

    #[test]
    fn one_guest_at_a_time() {
        let setup = || script("").0;
        let spare = || ToWorker::Open(setup());
        let fails: [Vec<ToWorker>; 5] = [
            vec![turn_of("return {}")],
            vec![ToWorker::Close],
            vec![spare(), spare()],
            vec![spare(), run_of("return {}")],
            vec![spare(), ToWorker::Close, ToWorker::Close],
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
        gateway.tell(&ToWorker::Open(script("").0));
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
