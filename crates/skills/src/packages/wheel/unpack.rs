//! Unpacks one wheel into memory.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Cursor, Read, Seek};

use zip::read::ZipFile;
use zip::{CompressionMethod, ZipArchive};

use crate::packages::wheel::error::{WheelError, shown};
use crate::packages::wheel::file_name::WheelName;
use crate::packages::wheel::layout::check_layout;
use crate::packages::wheel::metadata::{metadata_fault, wheel_fault};
use crate::packages::wheel::path::{collision_key, path_fault};
use crate::packages::wheel::record::WheelRecord;

/// The limits of a wheel.
#[derive(Debug, Clone, Copy)]
pub struct WheelLimits {
    /// Entries of the archive.
    pub entries: usize,
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files together.
    pub total: u64,
    /// Length to which one byte of an entry may unpack, beyond [`ALWAYS_FINE`].
    pub ratio: u64,
}

impl WheelLimits {
    /// The limits for wheels that are installed. The largest wheels of pure Python unpack to some
    /// 50 MB in 5,000 files; text compresses to a tenth.
    pub const DEFAULT: Self =
        Self { entries: 20_000, file: 64 << 20, total: 256 << 20, ratio: 300 };
}

/// Length below which the ratio does not matter: an empty table compresses well, too.
const ALWAYS_FINE: u64 = 1 << 20;

/// Longest metadata file.
const MAX_METADATA: usize = 8 << 20;

/// Endings of names of native code.
const NATIVE: [&str; 8] = [".so", ".pyd", ".dylib", ".dll", ".wasm", ".a", ".o", ".node"];

/// Beginnings of native code: ELF, WebAssembly, and Mach-O of both orders.
const MAGIC: [&[u8]; 7] = [
    b"\x7fELF",
    b"\0asm",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"!<arch>\n",
];

/// A file of a wheel, at its place in a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackedFile {
    /// Path below the layer's root.
    pub path: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// The files that a wheel installs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The files, in the order of the archive.
    pub files: Vec<UnpackedFile>,
}

impl Unpacked {
    /// Keeps the files below some folders alone, and moves each folder to its new path.
    pub(crate) fn keep_only(&mut self, folders: &BTreeMap<String, String>) {
        let moved = |path: &str| {
            folders.iter().find_map(|(from, to)| {
                let rest = path.strip_prefix(from.as_str())?.strip_prefix('/')?;
                Some(format!("{to}/{rest}"))
            })
        };
        self.files.retain_mut(|file| match moved(&file.path) {
            Some(path) => {
                file.path = path;
                true
            }
            None => false,
        });
    }
}

/// Unpacks the wheel called `name`.
///
/// Files for other places than the library (scripts, headers, data) and compiled Python are left
/// out, and so is the native code of a wheel that may have some: the engine has it.
///
/// # Errors
///
/// The archive is damaged, too large, or contains what a layer may not.
pub fn unpack(
    name: &WheelName,
    wheel: &[u8],
    limits: &WheelLimits,
) -> Result<Unpacked, WheelError> {
    let broken = |problem: String| WheelError::Archive { file: name.as_str().to_owned(), problem };
    let count = check_layout(wheel).map_err(|problem| broken(problem.to_owned()))?;
    let archive = ZipArchive::new(Cursor::new(wheel));
    let mut archive = archive.map_err(|error| broken(shown(&error.to_string())))?;
    if archive.len() > limits.entries {
        return Err(WheelError::TooLarge {
            file: name.as_str().to_owned(),
            problem: "has too many files",
        });
    }
    if archive.has_duplicate_names() || archive.len() != count {
        return Err(broken("it has two entries with one name".to_owned()));
    }
    if archive.has_overlapping_files().map_err(|error| broken(shown(&error.to_string())))? {
        return Err(broken("its entries overlap".to_owned()));
    }
    let mut files = Vec::new();
    let mut names = Names::default();
    let mut left = limits.total;
    for index in 0..archive.len() {
        let mut entry =
            archive.by_index(index).map_err(|error| broken(shown(&error.to_string())))?;
        let path = match std::str::from_utf8(entry.name_raw()) {
            Ok(path) => path.to_owned(),
            Err(_) => return Err(broken("it has an entry whose name is not UTF-8".to_owned())),
        };
        let refuse = |problem| WheelError::Entry {
            file: name.as_str().to_owned(),
            entry: shown(&path),
            problem,
        };
        if let Some(problem) = entry_fault(&entry, &path).or_else(|| names.add_fault(&path)) {
            return Err(refuse(problem));
        }
        if name.native().is_none() && is_named_native(&path) {
            return Err(refuse("which is native code"));
        }
        if path.ends_with('/') {
            continue;
        }
        let content = read(&mut entry, limits, &mut left).map_err(refuse)?;
        if name.native().is_none() && is_native(&content) {
            return Err(refuse("which is native code"));
        }
        files.push(UnpackedFile { path, content });
    }
    check_metadata(name, &files)?;
    files.retain(|file| !is_named_native(&file.path) && !is_native(&file.content));
    Ok(Unpacked { files: installed(name, files)? })
}

/// The names of the entries so far.
#[derive(Debug, Default)]
struct Names {
    /// The folders as they were spelt, by what they are taken for.
    folders: HashMap<String, String>,
    files: HashSet<String>,
}

impl Names {
    /// Adds an entry. Returns the reason why it cannot lie next to the others.
    fn add_fault(&mut self, path: &str) -> Option<&'static str> {
        let (folder, file) = match path.strip_suffix('/') {
            Some(folder) => (Some(folder), None),
            None => (path.rsplit_once('/').map(|(folder, _)| folder), Some(path)),
        };
        let mut above = folder;
        while let Some(folder) = above {
            let key = collision_key(folder);
            if self.files.contains(&key) {
                return Some("which is a file and a folder");
            }
            match self.folders.get(&key) {
                Some(known) if known == folder => break,
                Some(_) => return Some("which differs from another entry only in case or accents"),
                None => drop(self.folders.insert(key, folder.to_owned())),
            }
            above = folder.rsplit_once('/').map(|(above, _)| above);
        }
        let key = collision_key(file?);
        if self.folders.contains_key(&key) {
            return Some("which is a file and a folder");
        }
        if !self.files.insert(key) {
            return Some("which differs from another entry only in case or accents");
        }
        None
    }
}

fn entry_fault<R: Read + Seek>(entry: &ZipFile<'_, R>, path: &str) -> Option<&'static str> {
    if let Some(problem) = path_fault(path.strip_suffix('/').unwrap_or(path)) {
        return Some(problem);
    }
    // The type of a file in Unix modes; 0 where the archive states none.
    let kind = entry.unix_mode().unwrap_or_default() & 0o170_000;
    let expected = if path.ends_with('/') { 0o040_000 } else { 0o100_000 };
    if kind != 0 && kind != expected {
        return Some("which is a link or another special file");
    }
    if entry.encrypted() {
        return Some("which is encrypted");
    }
    if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
        return Some("which is compressed with a method that wheels do not use");
    }
    let lower = path.to_lowercase();
    if lower.ends_with(".pth") {
        return Some("which the interpreter would run at startup");
    }
    None
}

fn is_named_native(path: &str) -> bool {
    let lower = path.to_lowercase();
    NATIVE.iter().any(|end| lower.ends_with(end)) || lower.contains(".so.")
}

fn is_native(content: &[u8]) -> bool {
    MAGIC.iter().any(|magic| content.starts_with(magic))
}

/// Reads an entry. Neither the stated nor the true length may pass the limits.
fn read<R: Read + Seek>(
    entry: &mut ZipFile<'_, R>,
    limits: &WheelLimits,
    left: &mut u64,
) -> Result<Vec<u8>, &'static str> {
    let by_ratio = entry.compressed_size().saturating_mul(limits.ratio).max(ALWAYS_FINE);
    let most = limits.file.min(*left).min(by_ratio);
    let stated = entry.size();
    let too_large = if most == by_ratio {
        "which unpacks to far more than its size"
    } else {
        "which is too large"
    };
    if stated > most {
        return Err(too_large);
    }
    let mut content = Vec::new();
    let read = entry.take(most.saturating_add(1)).read_to_end(&mut content);
    let length = read.map_err(|_damaged| "which is damaged")?;
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    if length > most {
        return Err(too_large);
    }
    if length != stated {
        return Err("whose length is not the stated one");
    }
    *left = left.saturating_sub(length);
    Ok(content)
}

/// Checks the metadata, and every file against the record.
fn check_metadata(name: &WheelName, files: &[UnpackedFile]) -> Result<(), WheelError> {
    let refuse = |problem: String| WheelError::Metadata { file: name.as_str().to_owned(), problem };
    let folder = metadata_folder(files)
        .ok_or_else(|| refuse("has no folder `*.dist-info`, or several of them".to_owned()))?;
    let text = |file: &str| {
        let path = format!("{folder}/{file}");
        let found = files.iter().find(|one| one.path == path);
        let bytes = found.map(|one| one.content.as_slice()).filter(|one| one.len() <= MAX_METADATA);
        bytes
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .ok_or_else(|| refuse(format!("has no readable `{file}`")))
    };
    if let Some(problem) = wheel_fault(text("WHEEL")?, name) {
        return Err(refuse(problem));
    }
    if let Some(problem) = metadata_fault(text("METADATA")?, name) {
        return Err(refuse(problem));
    }
    let record = WheelRecord::parse(text("RECORD")?)
        .ok_or_else(|| refuse("has a `RECORD` that is not a table".to_owned()))?;
    let own = ["RECORD", "RECORD.jws", "RECORD.p7s"].map(|file| format!("{folder}/{file}"));
    for file in files.iter().filter(|file| !own.contains(&file.path)) {
        if let Some(problem) = record.fault(&file.path, &file.content) {
            let (entry, file) = (shown(&file.path), name.as_str().to_owned());
            return Err(WheelError::Entry { file, entry, problem });
        }
    }
    let has: HashSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    match record.missing(|path| has.contains(path) || own.iter().any(|one| one == path)) {
        Some(path) => Err(refuse(format!("lacks `{}`, which its RECORD lists", shown(path)))),
        None => Ok(()),
    }
}

/// The one folder with metadata at the root.
fn metadata_folder(files: &[UnpackedFile]) -> Option<&str> {
    let folders = files.iter().filter_map(|file| file.path.split_once('/'));
    let mut folders: Vec<&str> =
        folders.map(|(folder, _)| folder).filter(|folder| folder.ends_with(".dist-info")).collect();
    folders.sort_unstable();
    folders.dedup();
    match folders.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// The files at the places where they are installed.
fn installed(name: &WheelName, files: Vec<UnpackedFile>) -> Result<Vec<UnpackedFile>, WheelError> {
    let mut placed: HashSet<String> = HashSet::new();
    let mut kept = Vec::with_capacity(files.len());
    for UnpackedFile { path, content } in files {
        let Some(path) = place(&path) else { continue };
        if !placed.insert(collision_key(&path)) {
            return Err(WheelError::Entry {
                file: name.as_str().to_owned(),
                entry: shown(&path),
                problem: "which it installs twice",
            });
        }
        kept.push(UnpackedFile { path, content });
    }
    Ok(kept)
}

/// The place of a file in the library; `None` if it does not belong there.
fn place(path: &str) -> Option<String> {
    let is_compiled = |path: &str| {
        let lower = path.to_lowercase();
        lower.ends_with(".pyc")
            || lower.ends_with(".pyo")
            || lower.split('/').any(|one| one == "__pycache__")
    };
    if is_compiled(path) {
        return None;
    }
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    if !first.ends_with(".data") || rest.is_empty() {
        return Some(path.to_owned());
    }
    let (scheme, rest) = rest.split_once('/')?;
    matches!(scheme, "purelib" | "platlib").then(|| rest.to_owned())
}
