//! A turn without a program: the host does something with the files of a guest.
//!
//! INVARIANT(nothing-runs): no instruction of the guest is executed, and its clocks stand. Its memory is as
//! before, and so are its files unless they were to be changed.

use crate::clock_and_random::ParkedClocks;
use crate::error::SandboxError;
use crate::loaded::Sandbox;
use crate::preview1::GuestProcess;
use crate::run::ending::failure_of;
use crate::run::guest::open::OpenGuest;
use crate::run::stopwatch::Stopwatch;
use crate::run::turn::TurnEnd;
use crate::vfs::{Errno, FileKind, FileSystem, HostFile, ListBounds, Timestamp};
use wardian_formats::job::host::Host;
use wardian_formats::job::limits::{RunLimits, TurnLimits};
use wardian_formats::job::message::INLINE_MAX;
use wardian_formats::job::outcome::{RunOutcome, RunUsage};
use wardian_formats::job::session::files::{
    FilesAnswer, FilesOrder, FilesPage, FilesRefusal, ListedFile, ListedFiles, MAX_FILE_PATH,
    MAX_LISTED, MAX_PAGE_PATHS, WorkspaceFileKind,
};
use wardian_vocabulary::units::ByteCount;

/// The kind of a content that is sent. Its name tells the gateway more.
const KIND: &str = "application/octet-stream";

/// Nanoseconds of a millisecond.
const MILLISECOND: Timestamp = 1_000_000;

impl Sandbox {
    /// Carries out an order for the files of a guest between two of its turns. `content` is that of a file
    /// that is written. The output of the end is the [`FilesAnswer`].
    ///
    /// A change that was refused has changed nothing. One that was done in part, because the workspace has
    /// become full, is refused as well: the guest cannot go on then, and its last checkpoint is as before.
    ///
    /// # Errors
    ///
    /// Only faults of the sandbox.
    pub fn files(
        &self,
        guest: &mut OpenGuest,
        (order, content): (&FilesOrder, &[u8]),
        host: &mut dyn Host,
        watch: Stopwatch,
    ) -> Result<TurnEnd, SandboxError> {
        if !guest.can_go_on {
            return Err(SandboxError::Over);
        }
        if let Some(error) = guest.unmade.take() {
            guest.can_go_on = false;
            let limits = RunLimits::of(guest.setup().limits, TurnLimits::DEFAULT);
            let end = Err(failure_of(&error, &limits, false));
            let outcome = RunOutcome { end, ..outcome_of(guest, watch)? };
            return Ok(TurnEnd { outcome, output: Vec::new(), can_go_on: false });
        }
        let standing = stand_still(guest)?;
        let lasting = &mut guest.store()?.data_mut().lasting;
        let room = lasting.process.files.free_bytes().saturating_add(lasting.ceiling.room());
        let answer = carry_out(&mut lasting.process, (order, content), (host, room));
        guest.can_go_on = !matches!(answer, Err(Undone { in_part: true, .. }));
        let answer = answer.unwrap_or_else(|undone| FilesAnswer::Refused(undone.refusal));
        guest.standing = standing;
        let output = serde_json::to_vec(&answer).map_err(SandboxError::Job)?;
        let outcome = outcome_of(guest, watch)?;
        Ok(TurnEnd { outcome, output, can_go_on: guest.can_go_on })
    }
}

/// An order that was not carried out.
struct Undone {
    refusal: FilesRefusal,
    /// True if a part of it may be done.
    in_part: bool,
}

impl From<Errno> for Undone {
    fn from(errno: Errno) -> Self {
        Self { refusal: refusal_of(errno), in_part: false }
    }
}

/// Lets the clocks of a guest stand where its last turn has left them. Those of a guest that has to repeat
/// stand by themselves.
fn stand_still(guest: &mut OpenGuest) -> Result<Option<ParkedClocks>, SandboxError> {
    let before = guest.standing.take();
    let clocks = &mut guest.store()?.data_mut().lasting.process.clock_and_random;
    let standing = before.unwrap_or_else(|| clocks.parked());
    if standing.seeded.is_some() {
        return Ok(None);
    }
    if clocks.go_on_from(&standing) { Ok(Some(standing)) } else { Err(SandboxError::Over) }
}

fn outcome_of(guest: &mut OpenGuest, watch: Stopwatch) -> Result<RunOutcome, SandboxError> {
    let memory_peak = ByteCount::from(guest.store()?.data().lasting.ceiling.peak());
    let (wall_time, cpu_time) = (watch.wall_time(), Some(watch.cpu_time()));
    Ok(RunOutcome::of_files(RunUsage { wall_time, cpu_time, memory_peak, ..RunUsage::default() }))
}

fn carry_out(
    process: &mut GuestProcess,
    (order, content): (&FilesOrder, &[u8]),
    to: (&mut dyn Host, u64),
) -> Result<FilesAnswer, Undone> {
    match order {
        FilesOrder::List(page) => Ok(FilesAnswer::Listed(listed(&process.files, page)?)),
        FilesOrder::Read { path } => Ok(read(&process.files, path, to)?),
        FilesOrder::Write { path } => write(process, path.as_str(), content),
        FilesOrder::Remove { path } => {
            let now = process.now();
            process.files.remove_own(path, now)?;
            Ok(FilesAnswer::Removed)
        }
    }
}

fn write(process: &mut GuestProcess, path: &str, content: &[u8]) -> Result<FilesAnswer, Undone> {
    process.files.check_put(path, content.len()).map_err(|errno| match errno {
        Errno::NotFound if process.files.leads_to_nothing(path) => {
            Undone { refusal: FilesRefusal::Dangling, in_part: false }
        }
        errno => errno.into(),
    })?;
    let now = process.now();
    let put = process.files.put_file(path, content, now);
    let replaced = put.map_err(|errno| Undone { in_part: true, ..errno.into() })?;
    Ok(FilesAnswer::Written { replaced })
}

fn listed(files: &FileSystem, page: &FilesPage) -> Result<ListedFiles, Errno> {
    let count = usize::try_from(page.limit).unwrap_or(usize::MAX).min(MAX_LISTED);
    let bounds = ListBounds { count, path: MAX_FILE_PATH, paths: MAX_PAGE_PATHS };
    let found = files.files_below(page.folder.as_deref(), page.after.as_deref(), bounds)?;
    let (has_more, unlisted) = (found.has_more, found.unlisted);
    Ok(ListedFiles {
        files: found.files.into_iter().map(listed_file).collect(),
        has_more,
        unlisted,
    })
}

fn listed_file(HostFile { path, kind, size, modified }: HostFile) -> ListedFile {
    let kind = match kind {
        FileKind::Folder => WorkspaceFileKind::Folder,
        FileKind::Link => WorkspaceFileKind::Link,
        FileKind::File | FileKind::Device => WorkspaceFileKind::File,
    };
    ListedFile { path, kind, size_bytes: size, modified_ms: modified / MILLISECOND }
}

/// Sends the content of a file. While it is sent, its bytes exist twice: the guest leaves `room` for them.
fn read(
    files: &FileSystem,
    path: &str,
    (host, room): (&mut dyn Host, u64),
) -> Result<FilesAnswer, Errno> {
    let (mut opened, modified) = files.open_own(path)?;
    let fits = opened.size <= room.max(ByteCount::from(INLINE_MAX).as_u64());
    if fits && host.write_blob_from(KIND, opened.size, &mut *opened.bytes).is_ok() {
        return Ok(FilesAnswer::Read { modified_ms: modified / MILLISECOND });
    }
    Ok(FilesAnswer::Refused(FilesRefusal::NotTaken))
}

fn refusal_of(errno: Errno) -> FilesRefusal {
    match errno {
        Errno::NotFound => FilesRefusal::NotFound,
        Errno::IsFolder => FilesRefusal::IsFolder,
        Errno::NotFolder => FilesRefusal::NotFolder,
        Errno::NotEmpty => FilesRefusal::NotEmpty,
        Errno::NoSpace | Errno::FileTooBig => FilesRefusal::NoSpace,
        Errno::ReadOnly => FilesRefusal::Outside,
        Errno::LinkLoop | Errno::NameTooLong => FilesRefusal::TooDeep,
        _ => FilesRefusal::Unreadable,
    }
}
