//! Frames of every size through real sockets: both ends of the channel, in both directions.

use std::iter::repeat_n;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::tests::{config, error_type, job, logs, run, run_script, start};
use crate::worker::channel::{Frames, WorkerChannel as GatewayEnd, WorkerChannelError};
use crate::{BlobSource, SkillContent};
use wardian_formats::job::attachment::{Owner, PackedFile};
use wardian_formats::job::frame;
use wardian_formats::job::message::{
    FromWorker, GuestNumber, INLINE_MAX, Payload, Refusal, ToWorker,
};
use wardian_formats::job::socket;
use wardian_vocabulary::ids::{BlobId, Digest, TenantId};
use wardian_worker::Channel as WorkerEnd;

/// The longest time for one frame. It only ends tests whose receiver waits for an event that never
/// comes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The contents of one frame: bytes of text in its message, and bytes of its payload.
type Size = (usize, usize);

/// Both ends of a socket whose buffers hold about this number of bytes, or the system's default.
fn pair(buffers: Option<usize>) -> (OwnedFd, OwnedFd) {
    let flags = SocketFlags::CLOEXEC;
    let ends = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    for end in [&ends.0, &ends.1] {
        if let Some(size) = buffers {
            sockopt::set_socket_send_buffer_size(end, size).unwrap();
            sockopt::set_socket_recv_buffer_size(end, size).unwrap();
        }
    }
    ends
}

/// Bytes that differ from frame to frame and from place to place.
fn content(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from((number * 31 + at / 7) % 251).unwrap()).collect()
}

fn bytes_of(payload: Payload) -> Vec<u8> {
    match payload {
        Payload::None => Vec::new(),
        Payload::Inline(bytes) => bytes,
        Payload::Shared(file, size) => {
            let mut bytes = vec![0; size.as_usize()];
            let read = rustix::io::pread(&file, bytes.as_mut_slice(), 0).unwrap();
            assert_eq!(read, bytes.len());
            bytes
        }
    }
}

/// A worker sends frames, the gateway receives them.
fn to_the_gateway(buffers: Option<usize>, sizes: &[Size]) {
    let (near, far) = pair(buffers);
    thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut worker = WorkerEnd::new(near);
            for (number, (text, payload)) in sizes.iter().enumerate() {
                let message = FromWorker::Failed { reason: "t".repeat(*text) };
                // The other end closes the socket when a test has failed.
                if worker.send(&message, &content(number, *payload)).is_err() {
                    break;
                }
            }
            worker
        });
        Runtime::new().unwrap().block_on(async {
            let mut gateway = GatewayEnd::new(far, frame::MESSAGE_MAX).unwrap();
            for (number, (text, size)) in sizes.iter().enumerate() {
                let received = timeout(PATIENCE, gateway.receive()).await;
                let received = received.unwrap_or_else(|_| panic!("frame {number} of {sizes:?}"));
                let (message, payload) = received.unwrap();
                let FromWorker::Failed { reason } = message else { panic!("{message:?}") };
                assert_eq!(reason.len(), *text);
                assert!(bytes_of(payload) == content(number, *size), "payload {number}");
            }
            let worker = sender.join().unwrap();
            assert!(gateway.is_quiet());
            drop(worker);
            let end = timeout(PATIENCE, gateway.receive()).await.unwrap();
            assert!(matches!(end, Err(WorkerChannelError::Gone)), "{end:?}");
        });
    });
}

/// The gateway sends frames, with many cancelled attempts if `gives_up`; a worker receives them.
fn to_the_worker(buffers: Option<usize>, sizes: &[Size], gives_up: bool) {
    let (near, far) = pair(buffers);
    thread::scope(|scope| {
        let (report, received) = mpsc::channel();
        scope.spawn(move || {
            let mut worker = WorkerEnd::new(near);
            while let Ok(Some(frame)) = worker.receive().map_err(|e| report.send(Err(e))) {
                report.send(Ok(frame)).ok();
            }
        });
        Runtime::new().unwrap().block_on(async {
            let mut gateway = GatewayEnd::new(far, frame::MESSAGE_MAX).unwrap();
            for (number, (text, size)) in sizes.iter().enumerate() {
                let (error_type, message) = ("E".to_owned(), "t".repeat(*text));
                let message = ToWorker::Refused(Refusal { error_type, message });
                let content = content(number, *size);
                let is_shared = *size > INLINE_MAX || number % 2 == 1;
                let file = is_shared.then(|| socket::share(&content).unwrap());
                let bytes = match &file {
                    Some(_) => frame::encode_shared(&message, (*size).into()),
                    None => frame::encode(&message, &content, false),
                };
                gateway.queue(match file {
                    Some(file) => Frames::with_descriptor(bytes.unwrap(), file),
                    None => bytes.unwrap().into(),
                });
                if gives_up {
                    // About half of the attempts are cancelled in the middle of a frame.
                    drop(timeout(Duration::from_micros(20), gateway.flush()).await);
                    continue;
                }
                // The reason of a worker that closed the socket is reported below.
                timeout(PATIENCE, gateway.flush()).await.unwrap().ok();
            }
            timeout(PATIENCE, gateway.flush()).await.unwrap().ok();
            for (number, (text, size)) in sizes.iter().enumerate() {
                let frame = received.recv_timeout(PATIENCE).unwrap();
                let (message, payload) = frame.unwrap_or_else(|error| {
                    panic!("frame {number} of {sizes:?}: {error:?}");
                });
                let ToWorker::Refused(refusal) = message else { panic!("{message:?}") };
                assert_eq!(refusal.message.len(), *text);
                assert!(bytes_of(payload) == content(number, *size), "payload {number}");
            }
        });
    });
}

fn size() -> impl Strategy<Value = usize> {
    // Sizes around one buffer of the kernel, one buffer of the channel, and an inline payload.
    prop_oneof![
        3 => 0_usize..200,
        2 => 15_000_usize..20_000,
        3 => 30_000_usize..80_000,
        1 => 80_000_usize..600_000,
        1 => 600_000_usize..4_000_000,
    ]
}

fn buffers() -> impl Strategy<Value = Option<usize>> {
    prop_oneof![2 => Just(None), 1 => Just(Some(1)), 1 => (4_096_usize..300_000).prop_map(Some)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_frame_of_a_worker_arrives(
        buffers in buffers(),
        sizes in prop::collection::vec((size(), size()), 1..5),
    ) {
        to_the_gateway(buffers, &sizes);
    }

    #[test]
    fn every_frame_of_the_gateway_arrives(
        buffers in buffers(),
        sizes in prop::collection::vec((size(), size()), 1..5),
    ) {
        to_the_worker(buffers, &sizes, false);
    }

    #[test]
    fn whole_frames_arrive_although_sends_are_cancelled(
        buffers in buffers(),
        sizes in prop::collection::vec((size(), size()), 1..5),
    ) {
        to_the_worker(buffers, &sizes, true);
    }
}

#[test]
fn a_message_of_two_kernel_buffers_with_a_descriptor_arrives() {
    for text in (30_000..120_000).step_by(1_000) {
        to_the_gateway(None, &[(text, INLINE_MAX + 1); 2]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_with_a_long_log_and_a_large_output_completes() {
    let pool = start(config(1)).await;
    let process = pool.report().workers[0].process;
    for round in 0..100_usize {
        let (log, output) = (20_000 + round * 1_500, INLINE_MAX + 1 + round * 10_000);
        let source = format!("log-of {log}\nreturn-of {output}");
        let finished = timeout(PATIENCE, run_script(&pool, &source)).await.unwrap();
        assert_eq!(error_type(&finished), "completed", "{log} {output}");
        assert_eq!(logs(&finished)[0].len(), log);
        assert_eq!(finished.output.unwrap().size(), output.into());
    }
    assert_eq!(pool.report().workers[0].process, process, "one worker had all runs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn skills_of_many_files_are_attached_one_after_another() {
    let pool = start(config(1)).await;
    let process = pool.report().workers[0].process;
    for files in [1_usize, 200, 1_000, 4_000] {
        let mut big = job("attached\nreturn {}");
        for number in 0..4 {
            let name = |at| format!("code/{}{at}.py", "x".repeat(40));
            let packed = (0..files).map(|at| PackedFile { path: name(at), offset: 0, size: 3 });
            let digest = Digest::of(format!("{files} {number}").as_bytes());
            let pack = b"abc".to_vec().into();
            big.guest.skills.push(Arc::new(SkillContent::new(
                Owner::Shared,
                digest,
                packed.collect(),
                pack,
            )));
            let text: Vec<u8> = repeat_n(b'b', 100_000 + files + number).collect();
            let (id, size) = (BlobId::of_digest(&Digest::of(&text)), text.len().into());
            let file = Arc::new(std::fs::File::from(socket::share(&text).unwrap()));
            big.guest.blobs.push(BlobSource { tenant: TenantId::local(), id, file, size });
        }
        let finished = run(&pool, &big).await;
        assert_eq!(error_type(&finished), "completed", "{files} files");
    }
    assert_eq!(pool.report().workers[0].process, process, "one worker had all runs");
}

#[test]
fn a_frame_that_is_sent_at_once_arrives_whole_or_is_refused() {
    let (near, far) = pair(Some(4_096));
    let close =
        || Frames::from(frame::encode(&ToWorker::Close(GuestNumber(7)), &[], false).unwrap());
    Runtime::new().unwrap().block_on(async {
        let mut gateway = GatewayEnd::new(far, frame::MESSAGE_MAX).unwrap();
        // Nobody has waited for the socket yet.
        gateway.send_at_once(close()).unwrap();
        // Nor is a frame overtaken that was queued before.
        gateway.queue(frame::encode(&ToWorker::Cancel, &[], false).unwrap().into());
        gateway.send_at_once(close()).unwrap();
        let mut worker = WorkerEnd::new(near);
        let mut received = || worker.receive().unwrap().unwrap().0;
        assert!(matches!(received(), ToWorker::Close(GuestNumber(7))));
        assert!(matches!(received(), ToWorker::Cancel));
        assert!(matches!(received(), ToWorker::Close(GuestNumber(7))));
        let refused = (0..100_000).find_map(|_| gateway.send_at_once(close()).err()).unwrap();
        assert!(matches!(refused, WorkerChannelError::Socket(_)), "{refused}");
    });
}
