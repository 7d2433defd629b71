//! Secrets that a command prints, such as the client of a vault.
//!
//! The command is started without a shell, with nothing on its standard input. Its output is
//! bounded, and so is its time. What it writes to standard error is dropped, since it may hold the
//! value. An end with status 0 and no output means that it has no such secret.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use zeroize::{Zeroize as _, Zeroizing};

use crate::secrets::config::SecretCommand;
use crate::secrets::error::{ProviderFault, ValueFault};
use crate::secrets::provider::{ProviderKind, SecretProvider};
use crate::secrets::value::{MAX_VALUE, checked};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::secret_text::SecretText;

/// Stands for the name of the secret in an argument.
const NAME: &str = "{name}";

/// Stands for the tenant in an argument.
const TENANT: &str = "{tenant}";

/// The variable that tells a command the tenant.
const TENANT_VARIABLE: &str = "WARDIAN_TENANT";

/// Most names whose values are kept, those of all tenants together. Names come from manifests, so
/// there are few.
const MAX_KEPT: usize = 1_024;

/// The secrets that a command prints.
#[derive(Debug)]
pub(crate) struct CommandSecrets {
    command: SecretCommand,
    /// One lock for each name of each tenant: a command that is running is waited for and not
    /// started twice.
    kept: Mutex<HashMap<KeptKey, Arc<Mutex<Option<Kept>>>>>,
}

/// The secrets that a command prints for one tenant.
#[derive(Debug)]
pub(crate) struct TenantCommand {
    pub command: Arc<CommandSecrets>,
    pub tenant: TenantId,
}

/// The tenant and the name of a secret.
type KeptKey = (Option<TenantId>, String);

/// What the command last said, and when.
#[derive(Debug)]
struct Kept {
    /// The reason of a failure is text, for those who waited for the same process.
    answer: Result<Option<SecretText>, String>,
    began: Instant,
    ended: Instant,
}

impl Kept {
    /// True if this answers somebody who asked at `asked`. A failure is shared by those who waited
    /// for it: otherwise each of them would wait for a failure of its own.
    fn answers(&self, asked: Instant, max_age: Duration) -> bool {
        match &self.answer {
            _ if self.began >= asked => true,
            Ok(_) => self.began.elapsed() < max_age,
            Err(_) => self.ended >= asked,
        }
    }
}

impl CommandSecrets {
    pub(crate) fn new(command: SecretCommand) -> Self {
        Self { command, kept: Mutex::default() }
    }

    fn slot(&self, tenant: Option<&TenantId>, name: &str) -> Arc<Mutex<Option<Kept>>> {
        let key = (tenant.cloned(), name.to_owned());
        let mut kept = self.kept.lock();
        if kept.len() >= MAX_KEPT && !kept.contains_key(&key) {
            kept.clear();
        }
        Arc::clone(kept.entry(key).or_default())
    }

    fn start(&self, tenant: Option<&TenantId>, name: &str) -> io::Result<Child> {
        let mut words = self.command.arguments.iter();
        let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        let has_place = self.command.arguments.iter().skip(1).any(|word| word.contains(NAME));
        let tenants_name = tenant.map_or("", TenantId::as_str);
        command.args(words.map(|word| word.replace(NAME, name).replace(TENANT, tenants_name)));
        if !has_place {
            command.arg(name);
        }
        for variable in &self.command.hidden_variables {
            command.env_remove(variable);
        }
        match tenant {
            Some(tenant) => command.env(TENANT_VARIABLE, tenant.as_str()),
            None => command.env_remove(TENANT_VARIABLE),
        };
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
    }

    fn ask(
        &self,
        tenant: Option<&TenantId>,
        name: &str,
    ) -> Result<Option<SecretText>, ProviderFault> {
        let deadline = Instant::now().checked_add(self.command.timeout);
        let mut process = Process {
            child: self.start(tenant, name).map_err(ProviderFault::CommandStart)?,
            is_ended: false,
        };
        let mut output = process.output(deadline)?;
        let status = process.ended(deadline)?;
        if !status.success() {
            return Err(ProviderFault::CommandFailed { status: status.to_string() });
        }
        match checked(std::mem::take(&mut *output)) {
            Ok(value) => Ok(Some(value)),
            Err(ValueFault::Empty) => Ok(None),
            Err(fault) => Err(ProviderFault::Value(fault)),
        }
    }
}

impl CommandSecrets {
    fn program(&self) -> String {
        self.command.arguments.first().cloned().unwrap_or_default()
    }

    fn find_for(
        &self,
        tenant: Option<&TenantId>,
        name: &str,
    ) -> Result<Option<SecretText>, ProviderFault> {
        let (slot, asked) = (self.slot(tenant, name), Instant::now());
        let mut slot = slot.lock();
        if let Some(kept) = slot.as_ref().filter(|kept| kept.answers(asked, self.command.max_age)) {
            let failed = |why| ProviderFault::CommandFailedBefore { why };
            return kept.answer.clone().map_err(failed);
        }
        *slot = None;
        let began = Instant::now();
        let answer = self.ask(tenant, name);
        let kept = answer.as_ref().map(Clone::clone).map_err(|f| CauseChain(f).to_string());
        *slot = Some(Kept { answer: kept, began, ended: Instant::now() });
        answer
    }
}

impl SecretProvider for CommandSecrets {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Command
    }

    fn place(&self) -> String {
        self.program()
    }

    fn find(&self, name: &str) -> Result<Option<SecretText>, ProviderFault> {
        self.find_for(None, name)
    }

    /// None: a command is asked by name only.
    fn names(&self) -> Result<Vec<String>, ProviderFault> {
        Ok(Vec::new())
    }
}

impl SecretProvider for TenantCommand {
    fn kind(&self) -> ProviderKind {
        ProviderKind::TenantCommand
    }

    fn place(&self) -> String {
        self.command.program()
    }

    fn find(&self, name: &str) -> Result<Option<SecretText>, ProviderFault> {
        self.command.find_for(Some(&self.tenant), name)
    }

    /// None: a command is asked by name only.
    fn names(&self) -> Result<Vec<String>, ProviderFault> {
        Ok(Vec::new())
    }
}

/// A process of a command, and whether its group was killed. Dropping it kills it and all that it
/// has started in its group.
#[derive(Debug)]
struct Process {
    child: Child,
    is_ended: bool,
}

impl Process {
    /// Reads the output to its end.
    fn output(&mut self, deadline: Option<Instant>) -> Result<Zeroizing<Vec<u8>>, ProviderFault> {
        let most = MAX_VALUE.saturating_add(2);
        let mut output = Zeroizing::new(Vec::with_capacity(most.saturating_add(PIECE)));
        let Some(mut stdout) = self.child.stdout.take() else { return Ok(output) };
        let mut piece = [0; PIECE];
        loop {
            let read = read_piece(&mut stdout, &mut piece, deadline)?;
            output.extend_from_slice(piece.get(..read).unwrap_or_default());
            piece.zeroize();
            if read == 0 {
                return Ok(output);
            }
            if output.len() > most {
                return Err(ProviderFault::Value(ValueFault::TooLong));
            }
        }
    }

    /// Waits for the end of the process.
    fn ended(&mut self, deadline: Option<Instant>) -> Result<ExitStatus, ProviderFault> {
        let pid = pid_of(&self.child);
        let process = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty()));
        if let Some(process) = process.transpose().map_err(|errno| failed(errno.into()))? {
            wait(&PollFd::new(&process, PollFlags::IN), deadline)?;
        }
        self.end_group();
        self.child.wait().map_err(failed)
    }

    /// Kills the group of the process. Its number belongs to it until the process is waited for.
    fn end_group(&mut self) {
        if let (false, Some(pid)) = (self.is_ended, pid_of(&self.child)) {
            // Errors are ignored: what has ended cannot be killed.
            kill_process_group(pid, Signal::KILL).ok();
        }
        self.is_ended = true;
    }
}

/// Size of a read from the command.
const PIECE: usize = 4 << 10;

fn read_piece(
    stdout: &mut ChildStdout,
    piece: &mut [u8],
    deadline: Option<Instant>,
) -> Result<usize, ProviderFault> {
    wait(&PollFd::new(stdout, PollFlags::IN), deadline)?;
    stdout.read(piece).map_err(failed)
}

/// Waits until `ready` is ready.
fn wait(ready: &PollFd<'_>, deadline: Option<Instant>) -> Result<(), ProviderFault> {
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left = left.unwrap_or(Duration::from_secs(60));
        let timeout = Timespec::try_from(left).map_err(|_range| ProviderFault::CommandLate)?;
        match poll(&mut [ready.clone()], Some(&timeout)) {
            Ok(0) => return Err(ProviderFault::CommandLate),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(failed(errno.into())),
        }
    }
}

fn failed(cause: io::Error) -> ProviderFault {
    ProviderFault::CommandStart(cause)
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_ended {
            self.end_group();
            // The process was killed, so this returns soon; without it a zombie would stay.
            self.child.wait().ok();
        }
    }
}
