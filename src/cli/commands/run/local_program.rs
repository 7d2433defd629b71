//! `wardian run` and `wardian exec`: run a program of the local user as the server would run it.
//!
//! The blobs are kept in a temporary store that is removed with the command, because a running
//! server may have locked the usual one.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use tempfile::TempDir;

use crate::assembly::{MeteredCode, Runtime, install_engine};
use crate::cli::commands::blobs::{read_text_blob, store_file};
use crate::cli::commands::fuel_profile::{ProfileRequest, title_of};
use crate::cli::commands::run::epoch::epoch;
use crate::cli::commands::run::out_folder::{SavedFile, save_all};
use crate::cli::commands::run::printed_result::{self, ShownLogs};
use crate::cli::commands::skills::list_skills::name_and_version;
use crate::cli::commands::skills::skills_lock::SkillsLock;
use crate::cli::commands::verify::{ensure_writable, network_file, private_key, write_document};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{
    Installer, block_on_until_interrupted, on_its_own, progress, start_once,
};
use crate::cli::program_args::{ExecArgs, NamedFile, PlacedFile, RunArgs, RunOptions};
use crate::cli::terminal::output::{note, shown};
use wardian_config::Config;
use wardian_formats::job::message::PAYLOAD_MAX;
use wardian_formats::job::outcome::MAX_LEFT_FILES;
use wardian_formats::job::{KeepBounds, KeepFiles, ScriptCall};
use wardian_formats::protocol::members::Members;
use wardian_formats::protocol::methods::blob_members::called_by;
use wardian_formats::protocol::methods::execution::{
    FileResult, ReproducibleParam, RequestedLimits, RunResult,
};
use wardian_formats::protocol::methods::input_blob::{BlobAtPath, InputBlob};
use wardian_formats::protocol::strict;
use wardian_formats::provenance::Unrepeatable;
use wardian_images::PackageSet;
use wardian_service::{Caller, LocalProgram, LocalRecord, LocalResult, LocalRun, log_stream};
use wardian_vocabulary::ids::{BlobId, BlobName};
use wardian_vocabulary::units::ByteCount;

/// Longest program or arguments that are read from a file, in bytes.
const MAX_ARGUMENTS: u64 = 16 << 20;

/// Maximum number of files that a sentence names.
const MAX_NAMED: usize = 3;

/// Runs a file, or code.
pub(crate) fn run_code(
    config: Config,
    installer: &Installer,
    args: RunArgs,
) -> Result<Exit, Failed> {
    let RunArgs { file, code, entrypoint, mount_skill, options } = args;
    let mut read = None;
    let (source, file_name) = match (code, file) {
        (Some(code), _) => (code, "<code>".to_owned()),
        (None, Some(file)) if file.as_os_str() == "-" => {
            (read_text(&mut io::stdin().lock(), "standard input")?, "<stdin>".to_owned())
        }
        (None, Some(file)) => {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = read_file(&file)?;
            read = Some(file);
            (text, name)
        }
        (None, None) => return Err(Failed::usage("give a file or code to run")),
    };
    let program = LocalProgram::File { source, file_name };
    let order = Order { program, file: read, entrypoint, mount_skills: mount_skill };
    run(config, installer, order, &options)
}

/// Executes a skill.
pub(crate) fn execute_skill(
    config: Config,
    installer: &Installer,
    args: ExecArgs,
) -> Result<Exit, Failed> {
    let ExecArgs { skill, script, argv, stdin, env, options } = args;
    let (name, version) = name_and_version(&skill);
    let (name, version) = (name.to_owned(), version.map(str::to_owned));
    let script = match script {
        None => None,
        Some(path) => {
            let stdin = stdin.as_deref().map(text_or_file).transpose()?;
            Some(Box::new(ScriptCall { path, argv, stdin, env: env.into_iter().collect() }))
        }
    };
    let program = LocalProgram::Skill { name, version, script };
    let order = Order { program, file: None, entrypoint: None, mount_skills: Vec::new() };
    run(config, installer, order, &options)
}

/// The program to run, with its arguments.
struct Order {
    program: LocalProgram,
    /// The file that it was read from.
    file: Option<PathBuf>,
    entrypoint: Option<String>,
    mount_skills: Vec<String>,
}

/// The files that a run reads, which its document must not replace.
fn inputs_of<'a>(options: &'a RunOptions, program: Option<&'a Path>) -> Vec<&'a Path> {
    let args = options.args.as_deref().and_then(|args| args.strip_prefix('@')).map(Path::new);
    let files = options.files.iter().map(|placed| &placed.file);
    let blobs = options.blob.iter().map(|blob| &blob.path).chain(files);
    let blobs = blobs.map(PathBuf::as_path);
    let others = [program, args, options.sign.as_deref(), options.locked.as_deref()];
    others.into_iter().flatten().chain(blobs).collect()
}

fn run(
    config: Config,
    installer: &Installer,
    order: Order,
    options: &RunOptions,
) -> Result<Exit, Failed> {
    let args = arguments(options.args.as_deref())?;
    ensure_set_once(&args, &options.blob)?;
    // What cannot be signed or written is reported before the run.
    if let Some(key) = &options.sign {
        private_key(key)?;
    }
    if let Some(path) = &options.record {
        ensure_writable(path, &inputs_of(options, order.file.as_deref()))?;
    }
    let profile = ProfileRequest::of(&options.profile)?;
    let limits = RequestedLimits {
        timeout_ms: options.timeout_ms,
        fuel: options.fuel,
        memory_bytes: options.memory_bytes,
        ..RequestedLimits::default()
    };
    let reproducible = match options.reproducible {
        true => Some(ReproducibleParam::Inputs {
            seed: options.seed.unwrap_or_default(),
            epoch: epoch(options.epoch)?,
            cache: false,
        }),
        false => None,
    };
    let is_metered = options.fuel.is_some() || options.reproducible || profile.is_some();
    let metered = if is_metered { MeteredCode::Wanted } else { MeteredCode::IfThere };
    let Order { program, file: _, entrypoint, mount_skills } = order;
    let request = LocalRun {
        entrypoint,
        mount_skills,
        limits,
        reproducible,
        profile: profile.map(|profile| profile.order),
        strict_output: options.strict_output,
        keep_files: options.out.as_ref().map(|_| everything(&config)),
        record: match options.record {
            Some(_) if options.record_network => LocalRecord::WithNetwork,
            Some(_) => LocalRecord::Wanted,
            None => LocalRecord::Unwanted,
        },
        ..LocalRun::new(program)
    };
    let lock = SkillsLock::read_named(options.locked.as_ref())?;
    let folder = TempDir::new().map_err(|fault| Failed::at("create a temporary folder", &fault))?;
    let config = on_its_own(config, &folder);
    block_on_until_interrupted(Box::pin(async {
        installer.ensure_engine(&config, metered).await?;
        if options.reproducible {
            install_engine(&config, metered, &[PackageSet::REPRODUCIBLE], progress().as_ref())?;
        }
        let runtime = start_once(&config, metered).await?;
        warn_of_problems(&runtime, &request);
        if let Some(lock) = &lock {
            lock.check(&runtime.registry.current())?;
        }
        Box::pin(perform(&runtime, request, args, options)).await
    }))
}

/// All files that a run can leave: they are written into a folder of the user's.
fn everything(config: &Config) -> KeepFiles {
    let all = config.limits.max.workspace;
    let count = u32::try_from(MAX_LEFT_FILES).unwrap_or(u32::MAX);
    KeepFiles::Usual(KeepBounds { count, max_size: all.min(PAYLOAD_MAX), total_size: all })
}

/// Prints the problems of the skills that a run asks for. Those of other skills do not concern it.
fn warn_of_problems(runtime: &Runtime, request: &LocalRun) {
    let executed = match &request.program {
        LocalProgram::Skill { name, .. } => Some(name.as_str()),
        LocalProgram::File { .. } => None,
    };
    let mounted = request.mount_skills.iter().map(|skill| name_and_version(skill).0);
    let asked: Vec<&str> = executed.into_iter().chain(mounted).collect();
    let index = runtime.registry.current();
    for skill in index.snapshots().filter(|skill| asked.contains(&skill.name().as_str())) {
        for warning in skill.warnings() {
            note(&format!("warning: `{}` {}: {warning}", skill.name(), skill.version()));
        }
    }
    let is_asked = |folder: &str| asked.contains(&name_and_version(folder).0);
    for rejected in index.rejected().iter().filter(|rejected| is_asked(&rejected.folder)) {
        for diagnostic in &rejected.diagnostics {
            note(&format!("warning: folder `{}`: {diagnostic}", rejected.folder));
        }
    }
}

async fn perform(
    runtime: &Runtime,
    request: LocalRun,
    args: Arguments,
    options: &RunOptions,
) -> Result<Exit, Failed> {
    let ended = Box::pin(perform_on(runtime, request, args, options)).await;
    runtime.shut_down(Duration::ZERO).await;
    ended
}

async fn perform_on(
    runtime: &Runtime,
    mut request: LocalRun,
    mut args: Arguments,
    options: &RunOptions,
) -> Result<Exit, Failed> {
    ensure_names_differ(options)?;
    for PlacedFile { file, path } in &options.files {
        let blob = store_file(&runtime.blobs, file, None)?.id.to_string();
        mount_once(
            &mut request.input_blobs,
            match path {
                None => InputBlob::Id(blob),
                Some(path) => InputBlob::AtPath(BlobAtPath { blob, path: path.to_string() }),
            },
        );
    }
    for NamedFile { name, path } in &options.blob {
        let id = store_file(&runtime.blobs, path, None)?.id.to_string();
        if let Some(name) = name {
            let value = to_raw_value(&id).map_err(|e| Failed::at("write the arguments", &e))?;
            args.0.push((name.clone(), value));
        }
        mount_once(&mut request.input_blobs, InputBlob::Id(id));
    }
    request.args =
        to_raw_value(&args).map_err(|fault| Failed::at("write the arguments", &fault))?;
    let caller = Caller::local("command-line");
    let title = title_of(&request.program);
    let mut shown = ShownLogs::default();
    // The terminal takes everything.
    let (listener, mut printed) = log_stream(ByteCount::bytes(u64::MAX));
    // With `--json` only the result is printed.
    request.listener = (!options.json).then_some(listener);
    let ended = {
        let showing = async {
            while let Some(chunk) = printed.next().await {
                shown.show(&chunk);
            }
        };
        // The run drops the listener at its end, which ends the loop that shows the logs.
        tokio::join!(runtime.service.run_file(&caller, request), showing).0?
    };
    runtime.warn_of_missing_walls();
    finish(runtime, &ended, (shown, &title), options)
}

/// Mounts a blob, unless it is mounted in this way already.
fn mount_once(mounted: &mut Vec<InputBlob>, blob: InputBlob) {
    if !mounted.contains(&blob) {
        mounted.push(blob);
    }
}

/// Prints the result and saves the blobs that the program stored.
fn finish(
    runtime: &Runtime,
    ended: &LocalResult,
    (shown, title): (ShownLogs, &str),
    options: &RunOptions,
) -> Result<Exit, Failed> {
    let whole = match &ended.output_blob {
        Some(id) if !options.json => Some(read_text_blob(&runtime.blobs, id)?),
        _ => None,
    };
    let saved = match &options.out {
        Some(folder) => {
            let (files, blobs) = (&ended.result.files, &ended.result.output_blobs);
            let called = |id: &BlobId| called_by(&ended.result, id);
            save_all(&runtime.blobs, files, blobs, called, folder)?
        }
        None => Vec::new(),
    };
    let profile = ProfileRequest::of(&options.profile)?;
    let exit = if options.json {
        let profile = profile.map(|profile| profile.to_json(ended, title)).transpose()?;
        printed_result::print_protocol(&ended.result, profile.as_ref())
    } else {
        let exit = printed_result::print_all(ended, shown, whole.as_deref());
        profile.map(|profile| profile.show(ended, title)).transpose()?;
        exit
    };
    if let Some(file) = &options.record {
        save_document(file, options.sign.as_deref(), ended)?;
    }
    saved.iter().for_each(note_saved);
    if options.out.is_none() && !options.json {
        // An output that became a blob was printed.
        let printed = ended.output_blob.as_ref().filter(|_| whole.is_some());
        if let Some(text) = dropped(&ended.result, printed) {
            note(&text);
        }
    }
    Ok(exit)
}

fn note_saved(saved: &SavedFile) {
    let path = shown(&saved.path.display().to_string());
    note(&match saved {
        SavedFile { is_unchanged: true, .. } => format!("{path} already has this content"),
        SavedFile { is_renamed: true, .. } => {
            format!(
                "wrote {path}: a file with the original name has different content and was \
                not replaced"
            )
        }
        _ => format!("wrote {path}"),
    });
}

/// The sentence about what a run has made and nobody keeps.
fn dropped(result: &RunResult, printed: Option<&BlobId>) -> Option<String> {
    let blobs = result.output_blobs.iter().filter(|id| Some(*id) != printed);
    let names: Vec<String> = blobs
        .map(|id| {
            let of_blob = |file: &&FileResult| file.blob_id.as_ref() == Some(id);
            let file = result.files.iter().find(of_blob);
            file.map_or_else(|| id.to_string(), |file| shown(&file.path))
        })
        .collect();
    let (first, others) = names.split_at_checked(MAX_NAMED).unwrap_or((&names, &[]));
    let more = match others.len() {
        0 => String::new(),
        count => format!(" and {count} others"),
    };
    let list = first.join(", ");
    (!names.is_empty())
        .then(|| format!("created and dropped: {list}{more}; keep them with `--out FOLDER`"))
}

/// Writes the document of a run, unless its end does not repeat.
fn save_document(file: &Path, key: Option<&Path>, ended: &LocalResult) -> Result<(), Failed> {
    if let Some(why) = ended.unrepeatable {
        let message = format!("no document was written: {why}");
        return Err(match why {
            Unrepeatable::Time | Unrepeatable::TooManyParts | Unrepeatable::Network => {
                Failed::refused(message)
            }
            Unrepeatable::Machine | Unrepeatable::Storage => Failed::because(message),
        });
    }
    let Some(document) = &ended.document else {
        return Err(Failed::because("the run left no document"));
    };
    let key = key.map(private_key).transpose()?;
    if let Some(network) = &ended.network {
        let beside = network_file(file);
        fs::write(&beside, &network.text)
            .map_err(|fault| Failed::named(beside.display(), &fault))?;
        let count = network.document.events.len();
        note(&format!("{count} events of the network recorded as {}", beside.display()));
    }
    write_document(file, document, key.as_ref())
}

/// Arguments in the order in which they were given, on which a program may depend, each as its
/// text.
#[derive(Debug, Default)]
struct Arguments(Vec<(String, Box<RawValue>)>);

impl Arguments {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(given, _)| given == name)
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A text of the command line, or that of the file that it names.
fn text_or_file(given: &str) -> Result<String, Failed> {
    match given.strip_prefix('@') {
        Some("-") => read_text(&mut io::stdin().lock(), "standard input"),
        Some(path) => read_file(Path::new(path)),
        None => Ok(given.to_owned()),
    }
}

/// Reads the arguments: none, JSON, or a file with JSON.
fn arguments(given: Option<&str>) -> Result<Arguments, Failed> {
    let Some(given) = given else { return Ok(Arguments::default()) };
    let text = match given.strip_prefix('@') {
        Some(path) => read_file(Path::new(path))?,
        None => given.to_owned(),
    };
    let wrong = |why: String| Failed::usage(format!("`--args` must be a JSON object: {why}"));
    strict::read(text.as_bytes()).map_err(|fault| wrong(fault.to_string()))?;
    let members = Members::split(&text).ok_or_else(|| wrong("it is something else".to_owned()))?;
    let owned = members.0.into_iter().map(|(name, value)| (name.into_owned(), value.to_owned()));
    Ok(Arguments(owned.collect()))
}

/// Refuses an argument that is given twice, since one of the values would be lost.
fn ensure_set_once(args: &Arguments, blobs: &[NamedFile]) -> Result<(), Failed> {
    let mut names = BTreeSet::new();
    for name in blobs.iter().filter_map(|blob| blob.name.as_deref()) {
        if args.has(name) || !names.insert(name) {
            let name = shown(name);
            return Err(Failed::usage(format!(
                "`--blob` sets the argument `{name}`, which is already set"
            )));
        }
    }
    Ok(())
}

/// Refuses files that the program could not tell apart by their names. Those with a path have none.
fn ensure_names_differ(options: &RunOptions) -> Result<(), Failed> {
    let mut names = BTreeSet::new();
    let named = options.files.iter().filter(|placed| placed.path.is_none());
    for path in named.map(|placed| &placed.file) {
        let name = path.file_name().unwrap_or_default();
        if BlobName::parse(&name.to_string_lossy()).is_err() || name.to_str().is_none() {
            let path = shown(&path.display().to_string());
            return Err(Failed::usage(format!(
                "{path} has a name under which a program cannot open it: rename it, or use \
                `--blob`"
            )));
        }
        if !names.insert(name) {
            let name = shown(&name.to_string_lossy());
            return Err(Failed::usage(format!("two files are named `{name}`: rename one of them")));
        }
    }
    Ok(())
}

fn read_file(path: &Path) -> Result<String, Failed> {
    let mut file = fs::File::open(path).map_err(|fault| Failed::named(path.display(), &fault))?;
    read_text(&mut file, &path.display().to_string())
}

fn read_text(from: &mut impl io::Read, what: &str) -> Result<String, Failed> {
    let mut text = String::new();
    from.take(MAX_ARGUMENTS + 1)
        .read_to_string(&mut text)
        .map_err(|fault| Failed::named(what, &fault))?;
    if u64::try_from(text.len()).is_ok_and(|length| length <= MAX_ARGUMENTS) {
        return Ok(text);
    }
    Err(Failed::usage(format!("{what}: is longer than 16 MiB")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(given: Option<&str>) -> String {
        serde_json::to_string(&arguments(given).unwrap()).unwrap()
    }

    #[test]
    fn arguments_are_an_object_with_one_meaning() {
        assert_eq!(text(None), "{}");
        let given = r#"{"z":1.50,"a":{"y":[],"b":"\\u00e9"}}"#;
        assert_eq!(text(Some(given)), given, "in the caller's order, digit by digit");
        for wrong in ["", "[]", "7", "{", r#"{"a":1,"a":2}"#, "@/no/such/file"] {
            let failed = arguments(Some(wrong)).unwrap_err();
            assert_eq!(failed.exit, Exit::WrongUsage, "{wrong}");
        }
    }

    #[test]
    fn an_argument_is_set_once() {
        let blob = |name: Option<&str>| NamedFile {
            name: name.map(str::to_owned),
            path: "file.csv".into(),
        };
        let args = arguments(Some(r#"{"a": 1}"#)).unwrap();
        assert_eq!(ensure_set_once(&args, &[blob(Some("b")), blob(None), blob(None)]), Ok(()));
        for names in [&["a"][..], &["b", "b"]] {
            let blobs: Vec<_> = names.iter().map(|name| blob(Some(name))).collect();
            assert_eq!(ensure_set_once(&args, &blobs).unwrap_err().exit, Exit::WrongUsage);
        }
    }

    #[test]
    fn arguments_can_stand_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("args.json");
        fs::write(&file, r#"{"n": 1}"#).unwrap();
        let given = format!("@{}", file.display());
        assert_eq!(text(Some(&given)), r#"{"n":1}"#);
    }
}
