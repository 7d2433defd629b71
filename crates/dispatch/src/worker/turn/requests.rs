//! What a guest asks of the gateway during its turn, and the answers.

use tokio::select;

use crate::RunHost;
use crate::packs::share_text;
use crate::worker::channel::{Frames, WorkerChannelError};
use crate::worker::payload::CheckedPayload;
use crate::worker::turn::exchange::{Broken, TurnExchange, Violation};
use crate::worker::turn::run_clock::{Unanswered, late_look_up, unanswered};
use wardian_formats::job::frame;
use wardian_formats::job::host::{NO_ANSWERS, RequestKind};
use wardian_formats::job::message::{INLINE_MAX, Payload, ToWorker};
use wardian_formats::job::network::NetworkRequest;
use wardian_formats::job::session::asking::{CallerRequests, JsonText};
use wardian_vocabulary::units::ByteCount;

impl TurnExchange<'_> {
    /// Asks the host to store a blob, and sends its answer to the worker.
    pub(super) async fn write_blob(
        &mut self,
        kind: &str,
        content: Payload,
        host: &mut impl RunHost,
    ) -> Result<(), Broken> {
        self.has_asked = true;
        self.count_call()?;
        let content = CheckedPayload::accept(content).map_err(Violation::from)?;
        self.count_bytes(content.size())?;

        let storing = host.write_blob(kind, content);
        let message = match self.clock.wait_for(RequestKind::WriteBlob, storing).await {
            Ok(Ok(id)) => ToWorker::BlobStored { id },
            Ok(Err(refusal)) => ToWorker::Refused(refusal),
            Err(Unanswered) => ToWorker::Refused(unanswered()),
        };
        self.answer(&message, &[]).await
    }

    /// Asks the host for the network. An interruption ends a wait, as if nothing had come. A worker ends each wait that
    /// it can shorten with the run's own time; a request that takes longer was not shortened by it. A look-up has no such limit, so
    /// it is answered at the end of that time.
    pub(super) async fn ask_network(
        &mut self,
        request: &[u8],
        host: &mut impl RunHost,
    ) -> Result<(), Broken> {
        let request = NetworkRequest::parse(request).ok_or(Violation::Network)?;
        self.has_asked = true;
        if request.is_counted() {
            self.count_call()?;
        }
        let is_look_up = matches!(request, NetworkRequest::Resolve { .. });
        let in_vain = if is_look_up { Some(late_look_up()) } else { request.in_vain() };
        let asking = host.ask_network(request);
        let clock = &mut self.clock;
        let waiting = async {
            if is_look_up {
                let found = clock.wait_within_run(RequestKind::Network, asking).await;
                Ok(found.unwrap_or_else(|Unanswered| late_look_up()))
            } else {
                clock.wait_for(RequestKind::Network, asking).await
            }
        };
        let reply = match in_vain {
            None => waiting.await,
            Some(in_vain) => {
                let answered = select! {
                    biased;
                    reply = waiting => Some(reply),
                    () = self.interruption.happens() => None,
                };
                match answered {
                    Some(reply) => reply,
                    None => {
                        self.interrupt().await?;
                        Ok(in_vain)
                    }
                }
            }
        };
        let reply = reply.map_err(|Unanswered| Broken::Late)?;
        self.answer(&ToWorker::NetworkAnswered, &reply.encode()).await
    }

    /// Asks the caller, which hears along, for answers. An interruption ends the wait, as if none had come; so do
    /// other runs that wait for a worker. With answers the turn begins anew, as it would if it had ended with the requests.
    pub(super) async fn ask_caller(
        &mut self,
        requests: &[u8],
        host: &mut impl RunHost,
    ) -> Result<(), Broken> {
        let requests = CallerRequests::read(requests).ok_or(Violation::Requests)?;
        self.has_asked = true;
        self.count_call()?;
        let asking = self.clock.wait_for_caller(host.ask_caller(requests));
        let asked = select! {
            biased;
            answers = asking => Ok(answers),
            () = self.interruption.happens() => Err(true),
            // The pool lasts longer than its turns.
            _ = self.crowded.wait_for(|is_crowded| *is_crowded) => Err(false),
        };
        let answers = match asked {
            Ok(answers) => answers,
            Err(is_interrupted) => {
                if is_interrupted {
                    self.interrupt().await?;
                }
                None
            }
        };
        if answers.is_some() {
            (self.calls, self.bytes) = (0, ByteCount::default());
            self.clock.begin_anew(self.limits.wall_time);
        }
        match answers {
            None => self.answer(&ToWorker::CallerAnswered, NO_ANSWERS).await,
            Some(answers) => self.send(frames_of_answers(answers).await?).await,
        }
    }
}

/// The frame that hands over answers of a caller: those that are long as a memory file.
async fn frames_of_answers(answers: JsonText) -> Result<Frames, WorkerChannelError> {
    let (message, text) = (ToWorker::CallerAnswered, answers.as_str().as_bytes());
    if text.len() <= INLINE_MAX {
        return Ok(frame::encode(&message, text, false)?.into());
    }
    let bytes = frame::encode_shared(&message, ByteCount::from(text.len()))?;
    Ok(Frames::with_descriptor(bytes, share_text(answers).await?))
}
