//! The account of one run's host calls: their number and bytes, and the program's report of its
//! end.
//!
//! Everything in it comes from a possibly hostile guest, so it is bounded before it is copied.

use std::fmt;
use std::sync::Arc;

use crate::host_call::cell::CellAccount;
use crate::host_call::replies::{done, refused};
use crate::vfs::OpenedFile;
use wardian_formats::job::host::{Host, IsCancelled, IsInterrupted, NO_ANSWERS, OutputListener};
use wardian_formats::job::message::{INLINE_MAX, OUTPUT_MAX, Refusal};
use wardian_formats::job::network::NetworkRequest;
use wardian_formats::job::outcome::{Conversions, MAX_BLOB_NAMES, RunOutcome};
use wardian_formats::job::session::asking::CallerRequests;
use wardian_formats::job::session::cell::{CellOrder, CellOutcome};
use wardian_formats::job::{Turn, TurnLimits};
use wardian_vocabulary::ids::{BlobId, BlobName, InvalidId};
use wardian_vocabulary::units::ByteCount;

pub(crate) use crate::run::ending::Raised;

/// Longest report of a failure, in bytes. The guest's runner cuts messages and tracebacks, so even
/// a report that consists of escapes is far shorter. A guest that makes host calls by itself could
/// send all of its memory, and parsing that would take as much memory again.
const REPORT_MAX: usize = 1 << 20;

/// The program's report about its end. The last one counts.
#[derive(Debug)]
pub enum ProgramReport {
    /// JSON text of the value, and what was converted for it.
    Returned(Vec<u8>, Conversions),
    /// An exception that the program did not catch.
    Raised(Raised),
    /// The cell has not ended: it waits for its caller.
    Waits,
    /// A report that cannot be read. Only a guest that makes host calls by itself sends one.
    Unreadable,
}

/// The account of one run's host calls: their number and bytes so far, and the limits.
pub struct HostCallAccount {
    host: Box<dyn Host>,
    job: Arc<[u8]>,
    report: Option<ProgramReport>,
    calls: u32,
    bytes: u64,
    largest: usize,
    max_calls: u32,
    max_bytes: u64,
    names: Vec<(BlobId, BlobName)>,
    /// What a cell displays; `None` for a turn that is none.
    pub(super) cell: Option<CellAccount>,
}

impl HostCallAccount {
    /// An account for a run of `job`, the text that the guest's runner reads.
    #[must_use]
    pub fn new(host: Box<dyn Host>, job: &[u8], limits: &TurnLimits) -> Self {
        Self {
            host,
            job: done(job).into(),
            report: None,
            calls: 0,
            bytes: 0,
            largest: 0,
            max_calls: limits.host_calls,
            max_bytes: limits.host_bytes.as_u64(),
            names: Vec::new(),
            cell: None,
        }
    }

    /// The same account for a turn that is a cell if there is an `order` for one.
    #[must_use]
    pub fn for_cell(self, order: Option<&CellOrder>) -> Self {
        Self { cell: order.map(CellAccount::new), ..self }
    }

    /// What the cell has displayed, if the turn is one.
    pub fn take_cell(&mut self) -> Option<CellOutcome> {
        self.cell.take().map(CellAccount::into_outcome)
    }

    /// Forgets what the cell has displayed.
    pub(crate) fn clear_display(&mut self) {
        self.cell.iter_mut().for_each(CellAccount::clear);
    }

    /// Notes that the guest confirms an order to reseed.
    pub(crate) fn note_reseeded(&mut self) {
        self.cell.iter_mut().for_each(CellAccount::note_reseeded);
    }

    /// The program's last report about its end, and the number of its calls.
    pub fn take_report(&mut self) -> (Option<ProgramReport>, u32) {
        (self.report.take(), self.calls)
    }

    /// The answer with the job.
    pub(crate) fn job(&self) -> Arc<[u8]> {
        Arc::clone(&self.job)
    }

    /// A check that is true once no caller waits for the run.
    pub(crate) fn is_cancelled(&self) -> IsCancelled {
        self.host.is_cancelled()
    }

    /// A check that is true once the caller has interrupted the turn.
    pub(crate) fn is_interrupted(&self) -> IsInterrupted {
        self.host.is_interrupted()
    }

    /// Takes the program's value. Its length is checked before it is copied.
    pub(crate) fn returned(&mut self, value: &[u8], conversions: Conversions) -> Vec<u8> {
        let size = ByteCount::from(value.len());
        if size > OUTPUT_MAX {
            let message = format!(
                "the returned value has {size} of JSON, but a result may have at most \
                 {OUTPUT_MAX}; write it to a blob with `runtime.blobs.write_json` or `write_file` \
                 and return the id"
            );
            return refused(&Refusal { error_type: "ValueError".to_owned(), message });
        }
        if self.bytes.saturating_add(size.as_u64()) > self.max_bytes {
            return refused(&self.too_many_bytes());
        }
        self.largest = self.largest.max(value.len());
        self.report = Some(ProgramReport::Returned(value.to_vec(), conversions));
        done(&[])
    }

    /// Takes the requests of a cell that waits for its caller. Their length is checked before they are
    /// copied.
    pub(crate) fn waits(&mut self, requests: &[u8]) -> Vec<u8> {
        if let Err(refusal) = self.charge(requests.len()) {
            return refused(&refusal);
        }
        match (self.cell.as_mut(), CallerRequests::read(requests)) {
            (Some(cell), Some(requests)) => {
                cell.ask(requests);
                self.report = Some(ProgramReport::Waits);
                done(&[])
            }
            _ => self.unreadable(),
        }
    }

    /// What a cell asks in the middle of a call. Its length is checked before it is copied.
    ///
    /// # Errors
    ///
    /// The turn is no cell, its host cannot wait, or the request is malformed.
    pub(crate) fn asked(&mut self, requests: &[u8]) -> Result<CallerRequests, Refusal> {
        let refusal = |error_type: &str, message: &str| {
            let (error_type, message) = (error_type.to_owned(), message.to_owned());
            Err(Refusal { error_type, message })
        };
        self.charge(requests.len())?;
        if self.cell.is_none() || !self.host.can_hold() {
            return refusal("PolicyDenied", "only cells of a session ask their caller");
        }
        match CallerRequests::read(requests) {
            Some(requests) => Ok(requests),
            None => refusal("ValueError", "the requests are malformed"),
        }
    }

    /// What a cell asks before its turn ends, if its caller hears it and it is not too long for that. Its length is
    /// checked before it is copied.
    ///
    /// # Errors
    ///
    /// The run has made too many calls, or the requests are malformed.
    pub(crate) fn asked_soon(&mut self, requests: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
        // What is too long for a message is asked at the end of the turn.
        let is_heard = self.cell.as_ref().is_some_and(|cell| cell.is_heard);
        if !is_heard || requests.len() > INLINE_MAX {
            return Ok(None);
        }
        self.charge(requests.len())?;
        if CallerRequests::read(requests).is_none() {
            let message = "the requests are malformed".to_owned();
            return Err(Refusal { error_type: "ValueError".to_owned(), message });
        }
        Ok(Some(requests.to_vec()))
    }

    /// Asks the caller: see [`Host::ask_caller`]. With answers the counts of calls and bytes begin anew, as if the turn
    /// had ended with the requests.
    ///
    /// # Errors
    ///
    /// The run is cancelled.
    pub(crate) fn ask_caller(&mut self, requests: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
        let answers = self.host.ask_caller(requests)?;
        self.saw(answers.len());
        if answers == NO_ANSWERS {
            return Ok(None);
        }
        (self.calls, self.bytes) = (0, 0);
        Ok(Some(answers))
    }

    /// Ends a part of a turn, and begins the next one: see [`Host::hold`]. Returns the turn that goes on.
    pub(crate) fn hold(&mut self, outcome: RunOutcome) -> Option<Box<Turn>> {
        let turn = self.host.hold(outcome)?;
        let TurnLimits { host_calls, host_bytes, .. } = turn.limits;
        (self.max_calls, self.max_bytes) = (host_calls, host_bytes.as_u64());
        (self.calls, self.bytes, self.report) = (0, 0, None);
        self.cell = turn.cell.as_ref().map(CellAccount::new);
        Some(turn)
    }

    /// The receiver of the guest's output while it is printed.
    pub(crate) fn listener(&self) -> Option<OutputListener> {
        self.host.listener()
    }

    /// The number of calls so far.
    pub(crate) const fn calls(&self) -> u32 {
        self.calls
    }

    /// Takes a report that no runner sends.
    pub(crate) fn unreadable(&mut self) -> Vec<u8> {
        self.report = Some(ProgramReport::Unreadable);
        done(&[])
    }

    /// Takes the program's failure. Its length is checked before it is parsed.
    pub(crate) fn raised(&mut self, report: &[u8]) -> Vec<u8> {
        let is_bounded = report.len() <= REPORT_MAX;
        let raised = is_bounded.then(|| serde_json::from_slice::<Raised>(report).ok()).flatten();
        self.report = Some(raised.map_or(ProgramReport::Unreadable, ProgramReport::Raised));
        done(&[])
    }

    /// Counts a call with this number of bytes. Refuses if a limit of the run is reached.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.calls = self.calls.saturating_add(1);
        if self.calls > self.max_calls {
            let message = format!("the run made more than {} host calls", self.max_calls);
            return Err(Refusal { error_type: "HostCallLimit".to_owned(), message });
        }
        self.charge_bytes(bytes)
    }

    /// Counts bytes. Refuses if the run's limit is reached.
    pub(crate) fn charge_bytes(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.largest = self.largest.max(bytes);
        let bytes = ByteCount::from(bytes).as_u64();
        if bytes > self.bytes_left() {
            return Err(self.too_many_bytes());
        }
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Bytes that the run may still send, in addition to the value that it has reported.
    pub(crate) fn bytes_left(&self) -> u64 {
        let reported = match &self.report {
            Some(ProgramReport::Returned(value, _)) => ByteCount::from(value.len()).as_u64(),
            _ => 0,
        };
        self.max_bytes.saturating_sub(self.bytes.saturating_add(reported))
    }

    /// Notes the length of a piece that is not charged.
    pub(crate) fn saw(&mut self, bytes: usize) {
        self.largest = self.largest.max(bytes);
    }

    /// Length of the longest piece that came with a host call.
    pub(crate) const fn largest(&self) -> usize {
        self.largest
    }

    fn too_many_bytes(&self) -> Refusal {
        let message = format!("the run sent more than {} bytes to its host", self.max_bytes);
        Refusal { error_type: "HostCallLimit".to_owned(), message }
    }

    /// Asks the network. Bytes on their way there and waits have limits of the host's.
    pub(crate) fn ask_network(&mut self, request: &NetworkRequest<'_>) -> Result<Vec<u8>, Refusal> {
        if request.is_counted() {
            self.charge(0)?;
        }
        self.host.ask_network(request)
    }

    /// Notes the name of a blob. It costs no call: the list of names has its own bound, and the
    /// gateway names only blobs that the run has stored.
    pub(crate) fn name_blob(&mut self, id: &str, name: &str) -> Result<(), Refusal> {
        let wrong = |fault: InvalidId| Refusal {
            error_type: "ValueError".to_owned(),
            message: fault.to_string(),
        };
        let id = BlobId::parse(id).map_err(wrong)?;
        let name = BlobName::parse(name).map_err(wrong)?;
        if let Some((_, known)) = self.names.iter_mut().find(|(named, _)| *named == id) {
            *known = name;
            return Ok(());
        }
        if self.names.len() >= MAX_BLOB_NAMES {
            let message = format!("a run can name at most {MAX_BLOB_NAMES} blobs");
            return Err(Refusal { error_type: "HostCallLimit".to_owned(), message });
        }
        self.names.push((id, name));
        Ok(())
    }

    /// The names that the run gave to blobs.
    pub(crate) fn take_names(&mut self) -> Vec<(BlobId, BlobName)> {
        std::mem::take(&mut self.names)
    }

    /// Stores a blob. The host holds a copy of it meanwhile, for which the run has `room`.
    pub(crate) fn write_blob(
        &mut self,
        kind: &str,
        content: &[u8],
        room: u64,
    ) -> Result<BlobId, Refusal> {
        ensure_room(ByteCount::from(content.len()).as_u64(), room)?;
        self.host.write_blob(kind, content)
    }

    /// Stores a file as a blob. The host holds a copy of it meanwhile, for which the run has
    /// `room`.
    pub(crate) fn write_blob_from(
        &mut self,
        kind: &str,
        file: &mut OpenedFile<'_>,
        room: u64,
    ) -> Result<BlobId, Refusal> {
        ensure_room(file.size, room)?;
        self.host.write_blob_from(kind, file.size, &mut *file.bytes)
    }
}

/// Refuses a blob whose copy does not fit into `room`: while the host stores a blob, its bytes
/// exist twice, and the copy counts against the run's memory and workspace together.
fn ensure_room(size: u64, room: u64) -> Result<(), Refusal> {
    // Room for an inline payload is reserved for every run.
    if size <= room || size <= ByteCount::from(INLINE_MAX).as_u64() {
        return Ok(());
    }
    let (size, room) = (ByteCount::bytes(size), ByteCount::bytes(room));
    let message = format!(
        "storing a blob of {size} needs the same amount of memory again, and the run's limits on \
        memory and workspace leave {room}"
    );
    Err(Refusal { error_type: "HostCallLimit".to_owned(), message })
}

impl fmt::Debug for HostCallAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostCallAccount").field("calls", &self.calls).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Nobody;

    impl Host for Nobody {
        fn write_blob(&mut self, _: &str, _: &[u8]) -> Result<BlobId, Refusal> {
            Err(Refusal { error_type: "PolicyDenied".to_owned(), message: "no".to_owned() })
        }

        fn is_cancelled(&self) -> IsCancelled {
            Box::new(|| false)
        }
    }

    fn account(calls: u32, bytes: u64) -> HostCallAccount {
        let host_bytes = ByteCount::bytes(bytes);
        let limits = TurnLimits { host_calls: calls, host_bytes, ..TurnLimits::DEFAULT };
        HostCallAccount::new(Box::new(Nobody), b"{}", &limits)
    }

    #[test]
    fn the_limit_on_calls_is_enforced() {
        let mut account = account(2, 100);
        assert!(account.charge(1).is_ok() && account.charge(1).is_ok());
        assert_eq!(account.charge(1).unwrap_err().error_type, "HostCallLimit");
    }

    #[test]
    fn connections_count_as_calls_and_waiting_for_them_does_not() {
        let mut account = account(2, 100);
        let wait = NetworkRequest::Poll { timeout: None, wishes: vec![] };
        for _ in 0..10 {
            assert_eq!(account.ask_network(&wait).unwrap(), [1, 101, 0], "there is no network");
        }
        let start = NetworkRequest::Start { port: 80, name: "a" };
        assert!(account.ask_network(&start).is_ok() && account.ask_network(&start).is_ok());
        assert_eq!(account.ask_network(&start).unwrap_err().error_type, "HostCallLimit");
    }

    #[test]
    fn the_limit_on_bytes_is_enforced() {
        let mut account = account(100, 10);
        assert!(account.charge(10).is_ok());
        assert_eq!(account.charge(1).unwrap_err().error_type, "HostCallLimit");
    }

    #[test]
    fn a_value_shares_the_bytes_with_the_calls_before_and_after_it() {
        let mut account = account(100, 10);
        assert!(account.charge(6).is_ok());
        assert_eq!(
            refusal_type(&account.returned(&[0; 5], Conversions::default())).as_deref(),
            Some("HostCallLimit")
        );
        assert_eq!(account.returned(&[0; 3], Conversions::default()), [0]);
        assert_eq!(account.charge(2).unwrap_err().error_type, "HostCallLimit");
        assert!(account.charge(1).is_ok());
        assert_eq!(
            account.returned(&[0; 1], Conversions::default()),
            [0],
            "only the last value counts"
        );
        assert!(account.charge(2).is_ok());
    }

    #[test]
    fn a_value_that_is_too_large_is_refused_with_the_advice_to_use_a_blob() {
        let mut account = account(100, u64::MAX);
        let most = OUTPUT_MAX.as_usize();
        assert_eq!(account.returned(&vec![b' '; most], Conversions::default()), [0]);
        let refused = account.returned(&vec![b' '; most + 1], Conversions::default());
        assert_eq!(refusal_type(&refused).as_deref(), Some("ValueError"));
        let message = String::from_utf8(refused).unwrap();
        assert!(message.contains("32 MiB") && message.contains("runtime.blobs"), "{message}");
    }

    fn refusal_type(answer: &[u8]) -> Option<String> {
        let (status, body) = answer.split_first()?;
        let body: serde_json::Value = serde_json::from_slice(body).ok()?;
        (*status == 1).then(|| body["type"].as_str().unwrap().to_owned())
    }

    #[test]
    fn the_longest_piece_is_remembered() {
        let mut account = account(9, 99);
        assert!(account.charge(7).is_ok());
        account.returned(&[0; 5], Conversions::default());
        assert_eq!(account.largest(), 7);
        assert!(account.charge(100).is_err() && account.largest() == 100);
    }

    #[test]
    fn a_copy_for_the_host_must_fit_into_the_rest_of_the_runs_limits() {
        let small = ByteCount::from(INLINE_MAX).as_u64();
        for (size, room, fits) in [
            (0, 0, true),
            (small, 0, true),
            (small + 1, small, false),
            (small + 1, small + 1, true),
            (u64::MAX, u64::MAX - 1, false),
        ] {
            assert_eq!(ensure_room(size, room).is_ok(), fits, "{size} of {room}");
        }
        let refused = ensure_room(200 << 20, 100 << 20).unwrap_err();
        assert_eq!(refused.error_type, "HostCallLimit");
        assert!(refused.message.contains("200 MiB") && refused.message.contains("100 MiB"));
    }

    #[test]
    fn the_names_of_blobs_are_few_and_plain() {
        use wardian_vocabulary::ids::Digest;
        let mut account = account(0, 0);
        let id = |number: usize| {
            BlobId::of_digest(&Digest::of(number.to_string().as_bytes())).to_string()
        };
        assert!(account.name_blob(&id(0), "a/b").is_err() && account.name_blob("a", "b").is_err());
        for number in 0..MAX_BLOB_NAMES {
            account.name_blob(&id(number), "first").unwrap();
        }
        account.name_blob(&id(0), "second").unwrap();
        let full = account.name_blob(&id(MAX_BLOB_NAMES), "one more").unwrap_err();
        assert_eq!(full.error_type, "HostCallLimit");
        let names = account.take_names();
        assert_eq!((names.len(), names[0].1.as_str()), (MAX_BLOB_NAMES, "second"));
    }

    #[test]
    fn the_last_report_counts() {
        let mut account = account(9, 99);
        account.returned(b"1", Conversions::default());
        account.raised(br#"{"type": "ValueError", "message": "m", "traceback": null}"#);
        assert!(matches!(account.take_report(), (Some(ProgramReport::Raised(_)), 0)));
    }

    #[test]
    fn a_report_beyond_its_limit_is_not_read() {
        let report = |length: usize| {
            let mut account = account(9, 99);
            let message = "m".repeat(length);
            account.raised(format!(r#"{{"type": "E", "message": "{message}"}}"#).as_bytes());
            account.take_report().0
        };
        assert!(matches!(report(REPORT_MAX - 100), Some(ProgramReport::Raised(_))));
        assert!(matches!(report(REPORT_MAX), Some(ProgramReport::Unreadable)));
    }

    proptest! {
        #[test]
        fn hostile_reports_never_panic(report in prop::collection::vec(any::<u8>(), 0..64)) {
            drop(account(1, 10).raised(&report));
        }
    }
}
