//! Files of the user who started this program: those that runs may read, as resources and by
//! `input_blobs: ["file:NAME"]`, and the folder for what runs leave.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rmcp::model::{Resource, Tool};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::mcp::features::skills::skill_uri::{decoded, encoded};
use crate::net::respond::Failure;
use wardian_formats::protocol::methods::blob_members::called_by;
use wardian_formats::protocol::methods::execution::RunResult;
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_formats::protocol::{MethodCall, MethodResult};
use wardian_service::{BlobTransfers, Caller, PIECE, ServiceError, UploadOrder};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::files::user_folder::{UserFile, UserFileError, UserFolder};
use wardian_vocabulary::ids::{BlobId, BlobName};
use wardian_vocabulary::units::ByteCount;

/// The scheme of the addresses of files.
pub(crate) const FILE: &str = "file:";

/// Maximum number of files that are listed as resources, and that the descriptions of tools name.
const MAX_LISTED: usize = 500;
const MAX_NAMED: usize = 20;

/// Maximum number of texts in arguments that are looked up as files, for advice.
const MAX_LOOKED_UP: usize = 100;

/// Maximum number of files of one run that are saved.
const MAX_SAVED: usize = 100;

/// Maximum number of characters of the sentence about what was saved.
const MAX_TOLD: usize = 4_000;

/// The folders of the user who started this program.
#[derive(Debug, Clone, Default)]
pub struct LocalFolders {
    files: Vec<ReadFolder>,
    out: Option<Arc<UserFolder>>,
}

/// A folder whose files runs may read.
#[derive(Debug, Clone)]
struct ReadFolder {
    folder: Arc<UserFolder>,
    /// What stands before the name of a file where an earlier folder has one of that name. No other
    /// folder has this label, and nothing in a folder had its name at the start.
    label: String,
}

impl ReadFolder {
    /// The file called `name`, which may begin with the label.
    fn labelled(&self, name: &str) -> Result<File, UserFileError> {
        let rest = name.strip_prefix(&self.label).and_then(|rest| rest.strip_prefix('/'));
        rest.map_or(Err(UserFileError::Missing), |rest| self.folder.file(rest))
    }
}

/// Opens each folder once, and chooses their labels.
fn read_folders(paths: &[PathBuf]) -> Result<Vec<ReadFolder>, (PathBuf, io::Error)> {
    let mut folders: Vec<ReadFolder> = Vec::new();
    let mut known = Vec::new();
    for path in paths {
        let at = |fault: io::Error| (path.clone(), fault);
        let resolved = path.canonicalize().map_err(at)?;
        let folder = UserFolder::open(path).map(Arc::new).map_err(at)?;
        if known.contains(&resolved) {
            continue;
        }
        let last = resolved.file_name().unwrap_or_default().to_string_lossy();
        let last: String = last.chars().filter(|letter| !letter.is_control()).collect();
        let last = if last.is_empty() { "folder".to_owned() } else { last };
        known.push(resolved);
        folders.push(ReadFolder { folder, label: last });
    }
    for at in 0..folders.len() {
        let Some(plain) = folders.get(at).map(|one| one.label.clone()) else { continue };
        let is_taken = |label: &str| {
            let before = folders.iter().take(at).any(|other| other.label == label);
            before || known.iter().any(|folder| folder.join(label).symlink_metadata().is_ok())
        };
        let numbered = (2_usize..).map(|number| format!("{plain} ({number})"));
        let label = std::iter::once(plain.clone()).chain(numbered).find(|label| !is_taken(label));
        if let (Some(folder), Some(label)) = (folders.get_mut(at), label) {
            folder.label = label;
        }
    }
    Ok(folders)
}

/// Files of one name in two folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SameName {
    /// The name, which is that of the file in the folder that was named first.
    pub name: String,
    /// The name by which the other file is used.
    pub other: String,
}

impl LocalFolders {
    /// Opens folders whose files runs may read, and one for what they leave.
    ///
    /// # Errors
    ///
    /// The first folder that cannot be opened, and why.
    pub fn open(files: &[PathBuf], out: Option<&Path>) -> Result<Self, (PathBuf, io::Error)> {
        let open = |path: &Path| {
            let opened = UserFolder::open(path).map(Arc::new);
            opened.map_err(|fault| (path.to_owned(), fault))
        };
        Ok(Self { files: read_folders(files)?, out: out.map(open).transpose()? })
    }

    /// The files whose names an earlier folder has, too.
    pub fn same_names(&self) -> Vec<SameName> {
        self.listed_and_same().1
    }

    /// The files that runs may read, by name.
    fn listed(&self) -> Vec<UserFile> {
        self.listed_and_same().0
    }

    /// If two folders have one name, it is that of the file in the first one, and the other file has
    /// the label of its folder before it.
    fn listed_and_same(&self) -> (Vec<UserFile>, Vec<SameName>) {
        let (mut files, mut same): (Vec<UserFile>, Vec<SameName>) = (Vec::new(), Vec::new());
        let mut names: HashSet<String> = HashSet::new();
        for folder in &self.files {
            for mut file in folder.folder.list(MAX_LISTED) {
                if names.contains(&file.name) {
                    let other = format!("{}/{}", folder.label, file.name);
                    let name = std::mem::replace(&mut file.name, other.clone());
                    same.push(SameName { name, other });
                }
                if names.insert(file.name.clone()) {
                    files.push(file);
                }
            }
        }
        files.truncate(MAX_LISTED);
        (files, same)
    }

    /// The files as resources.
    pub fn resources(&self) -> Vec<Resource> {
        let resource = |UserFile { name, size }: UserFile| {
            Resource::new(format!("{FILE}{}", encoded(&name)), name).with_size(size)
        };
        self.listed().into_iter().map(resource).collect()
    }

    /// True if there are folders whose files runs may read.
    pub(crate) fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Opens the file at an address, such as `file:sales.xlsx`, whose letters may be encoded. Returns
    /// its name, too.
    pub(crate) fn find(&self, address: &str) -> Result<(File, String), Failure> {
        let written = address.strip_prefix(FILE).unwrap_or(address);
        let names = [Some(written.to_owned()), decoded(written)].into_iter().flatten();
        let mut refused = UserFileError::Missing;
        for name in names {
            let plain = self.files.iter().map(|folder| folder.folder.file(&name));
            let labelled = self.files.iter().map(|folder| folder.labelled(&name));
            for found in plain.chain(labelled) {
                match found {
                    Ok(file) => return Ok((file, name)),
                    Err(UserFileError::Missing) => {}
                    Err(fault) => refused = fault,
                }
            }
        }
        let shown: String = written.chars().take(MAX_TOLD).collect();
        let message = match refused {
            UserFileError::Missing => self.missing(&shown),
            fault => format!("`{FILE}{}`: {fault}", shown.escape_debug()),
        };
        Err(Failure::of_kind(ErrorKind::InvalidParams, message))
    }

    fn missing(&self, name: &str) -> String {
        let name = name.escape_debug();
        if !self.has_files() {
            return format!(
                "`{FILE}{name}`: this program was started without `--files FOLDER`, so there are no \
                 files of the user"
            );
        }
        let listed = self.listed();
        let shown: Vec<String> =
            listed.iter().take(MAX_NAMED).map(|file| format!("`{FILE}{}`", file.name)).collect();
        let shown = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
        format!("`{FILE}{name}`: the user's folder has no such file; it has {shown}")
    }

    /// Tells models in the description of a tool that runs programs which files there are.
    pub fn describe(&self, tool: &mut Tool) {
        let mut schema = (*tool.input_schema).clone();
        let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
        // Nothing continues after the program, and it keeps no records.
        let is_run = properties.remove("detach").is_some();
        if is_run
            && self.has_files()
            && let Some(Value::Object(blobs)) = properties.get_mut("input_blobs")
        {
            let text = "IDs of blobs, or names of the user's files such as `file:sales.xlsx`, to \
                            mount, or objects with one of them and a path. The same text within `args` becomes the id of the file's blob";
            blobs.insert("description".to_owned(), text.into());
        }
        tool.input_schema = Arc::new(schema);
        if is_run {
            let description = tool.description.take().unwrap_or_default();
            tool.description = Some(format!("{description}{}", self.advice()).into());
        }
    }

    /// What a model has to know of the folders, for the descriptions of tools.
    fn advice(&self) -> String {
        let mut advice = String::new();
        if self.has_files() {
            let listed = self.listed();
            let named: Vec<String> = listed
                .iter()
                .take(MAX_NAMED)
                .map(|file| format!("`{FILE}{}`", file.name))
                .collect();
            let more = listed.len().saturating_sub(MAX_NAMED);
            advice.push_str(&format!(
                " The user's files can be mounted read-only with `input_blobs`; resources/list has \
                 all of them. There are: {}{}.",
                if named.is_empty() { "none".to_owned() } else { named.join(", ") },
                if more == 0 { String::new() } else { format!(" and {more} others") },
            ));
        }
        if self.out.is_some() {
            advice.push_str(" Files that a run keeps are also saved in the user's folder.");
        }
        advice
    }

    /// Stores the files that a call names and puts the ids of their blobs in the place of the names.
    pub(crate) async fn mounted(
        &self,
        transfers: &BlobTransfers,
        caller: &Caller,
        mut call: MethodCall,
    ) -> Result<MethodCall, Failure> {
        let (blobs, args) = match &mut call {
            MethodCall::RunCode(params) => (&mut params.input_blobs, &mut params.args),
            MethodCall::ExecuteSkill(params) => (&mut params.input_blobs, &mut params.args),
            _ => return Ok(call),
        };
        if let Some(bare) = blobs.iter().find(|blob| self.is_offered(blob.id())) {
            let bare = bare.id().escape_debug();
            let message = format!(
                "`input_blobs` has `{bare}`, which is not a blob id: did you mean `{FILE}{bare}`, \
                 the user's file?"
            );
            return Err(Failure::of_kind(ErrorKind::InvalidParams, message));
        }
        let mut mounted = Vec::with_capacity(blobs.len());
        let mut known: HashMap<String, BlobId> = HashMap::new();
        for blob in std::mem::take(blobs) {
            let written = blob.id().to_owned();
            let mut mount = blob;
            if written.starts_with(FILE) {
                let stored = match known.get(&written) {
                    Some(stored) => stored.clone(),
                    None => {
                        let (file, name) = self.find(&written)?;
                        store(transfers, caller, file, &name).await?
                    }
                };
                if let Some(text) = args.take() {
                    *args = Some(replaced(text, &written, &stored));
                }
                mount = mount.with_id(stored.to_string());
                known.insert(written.clone(), stored);
            }
            mounted.push((written, mount));
        }
        *blobs = folded(mounted);
        Ok(call)
    }

    /// True if this is the name of a file of the user, without the scheme.
    fn is_offered(&self, name: &str) -> bool {
        let is_id = BlobId::parse(name).is_ok() || name.starts_with(FILE);
        !is_id && self.has_files() && self.find(name).is_ok()
    }

    /// The advice to list the user's files in `input_blobs`, if arguments name some that are not
    /// listed there: they stay text, because a program may want them as such.
    pub(crate) fn unlisted(&self, call: &MethodCall) -> Option<String> {
        let MethodCall::ExecuteSkill(params) = call else { return None };
        let args = params.args.as_ref().filter(|_| self.has_files())?;
        let named = texts(args.get()).filter(|text| text.starts_with(FILE)).take(MAX_LOOKED_UP);
        let mut named: Vec<String> = named
            .filter(|text| {
                let is_listed = params.input_blobs.iter().any(|blob| blob.id() == text);
                !is_listed && self.find(text).is_ok()
            })
            .take(MAX_NAMED)
            .map(|text| format!("`{text}`"))
            .collect();
        named.dedup();
        let listed = if named.is_empty() { return None } else { named.join(" and ") };
        Some(format!(
            "; list {listed} in `input_blobs` as well, and its text becomes the id of its blob"
        ))
    }

    /// Saves what a run has kept, and says where. `None` if there is nothing to say.
    pub async fn save(
        &self,
        transfers: &BlobTransfers,
        caller: &Caller,
        result: &MethodResult,
    ) -> Option<String> {
        let (Some(out), MethodResult::Run(run)) = (&self.out, result) else { return None };
        let (mut saved, mut failed) = (Vec::new(), Vec::new());
        let kept = kept_by(run);
        for blob in kept.iter().take(MAX_SAVED) {
            match save_one(out, transfers, caller, blob).await {
                Ok(made) => saved.push(made),
                Err(fault) => {
                    let name = blob.file.clone().unwrap_or_else(|| blob.id.to_string());
                    failed.push(format!("{name} ({fault})"));
                }
            }
        }
        let left = kept.len().saturating_sub(MAX_SAVED);
        let mut told = Vec::new();
        if !saved.is_empty() {
            told.push(format!("Saved in {}: {}.", out.path().display(), saved.join(", ")));
        }
        if !failed.is_empty() {
            told.push(format!("Could not be saved: {}.", failed.join(", ")));
        }
        if left > 0 {
            told.push(format!("{left} more files were not saved: a run may leave {MAX_SAVED}."));
        }
        (!told.is_empty()).then(|| told.join(" ").chars().take(MAX_TOLD).collect())
    }
}

/// A blob that a run has kept.
struct KeptBlob {
    id: BlobId,
    /// The name of the file that it was.
    file: Option<String>,
    /// What its program calls it, if it was not a file.
    called: Option<String>,
}

/// What a run has kept, each blob once.
fn kept_by(run: &RunResult) -> Vec<KeptBlob> {
    let mut kept: Vec<KeptBlob> = Vec::new();
    for file in &run.files {
        if let Some(id) = &file.blob_id {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            kept.push(KeptBlob { id: id.clone(), file: Some(name.to_owned()), called: None });
        }
    }
    for id in &run.output_blobs {
        if kept.iter().all(|known| known.id != *id) {
            let called = called_by(run, id);
            kept.push(KeptBlob { id: id.clone(), file: None, called });
        }
    }
    kept
}

async fn save_one(
    out: &Arc<UserFolder>,
    transfers: &BlobTransfers,
    caller: &Caller,
    blob: &KeptBlob,
) -> Result<String, String> {
    let said = |error: ServiceError| error.to_string();
    let download = transfers.open(caller, &blob.id.to_string()).await.map_err(said)?;
    let named = match &blob.file {
        None => download.blob.telling_name(blob.called.as_deref()),
        Some(name) => name.clone(),
    };
    let (file, made) = out.create(&named).map_err(|fault| fault.to_string())?;
    let file = Arc::new(file);
    let mut offset = 0;
    while offset < download.blob.size {
        let left = download.blob.size.saturating_sub(offset);
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE);
        let written = match download.read(offset, length).await {
            Ok(piece) => {
                let mut file = Arc::clone(&file);
                let writing = move || file.write_all(piece.as_ref());
                caller.memory.on_thread(writing).await.map_err(io::Error::other).flatten()
            }
            Err(error) => Err(io::Error::other(error)),
        };
        if let Err(fault) = written {
            out.discard(&made);
            return Err(fault.to_string());
        }
        offset = offset.saturating_add(ByteCount::from(length).as_u64());
    }
    Ok(made)
}

/// Stores a file as a blob, piece by piece.
async fn store(
    transfers: &BlobTransfers,
    caller: &Caller,
    mut file: File,
    name: &str,
) -> Result<BlobId, Failure> {
    let failed = |error: ServiceError| Failure::of(&error, &caller.request_id);
    let file_name = BlobName::of_path(name);
    let order = UploadOrder { file_name: file_name.as_ref(), ..UploadOrder::default() };
    let mut upload = transfers.begin_upload(caller, order).await.map_err(failed)?;
    let mut piece = Vec::with_capacity(PIECE);
    loop {
        let most = u64::try_from(PIECE).unwrap_or(u64::MAX);
        let reading = move || {
            let read = io::Read::by_ref(&mut file).take(most).read_to_end(&mut piece);
            (read, file, piece)
        };
        let read: io::Result<usize>;
        let done = caller.memory.on_thread(reading).await;
        (read, file, piece) = done.map_err(|broken| failed(ServiceError::Interrupted(broken)))?;
        let length = read.map_err(|fault| {
            let message = format!("`{FILE}{}` cannot be read: {fault}", name.escape_debug());
            Failure::of_kind(ErrorKind::InvalidParams, message)
        })?;
        if length == 0 {
            break;
        }
        piece = upload.append(piece).await.map_err(failed)?;
    }
    Ok(upload.finish().await.map_err(failed)?.blob_id)
}

/// The texts within JSON, members' names included.
fn texts(json: &str) -> impl Iterator<Item = String> {
    let mut rest = json;
    std::iter::from_fn(move || {
        let text = rest.get(rest.find('"')?..)?;
        let mut is_escaped = false;
        let end = text.char_indices().skip(1).find(|(_, letter)| {
            let is_end = *letter == '"' && !is_escaped;
            is_escaped = *letter == '\\' && !is_escaped;
            is_end
        });
        let (whole, after) = text.split_at_checked(end?.0.checked_add(1)?)?;
        rest = after;
        Some(serde_json::from_str(whole).unwrap_or_default())
    })
}

/// The blobs of a call, each with what the call has for it. Files of equal content are one blob,
/// which is mounted once, and at each of its paths. What the call itself repeats stays, and is
/// refused.
fn folded(mounted: Vec<(String, InputBlob)>) -> Vec<InputBlob> {
    let mut firsts: HashMap<String, String> = HashMap::with_capacity(mounted.len());
    let is_kept = |(written, blob): &(String, InputBlob)| match blob {
        InputBlob::AtPath(_) => true,
        InputBlob::Id(id) => {
            let first = firsts.entry(id.clone()).or_insert_with(|| written.clone());
            first == written
        }
    };
    let kept: Vec<_> = mounted.into_iter().filter(is_kept).collect();
    kept.into_iter().map(|(_, blob)| blob).collect()
}

/// Arguments with the id of a blob in the place of each text that is the name of its file.
fn replaced(args: Box<RawValue>, written: &str, id: &BlobId) -> Box<RawValue> {
    let Ok(plain) = serde_json::to_string(written) else { return args };
    // Many clients write letters beyond ASCII as escapes.
    let escaped: String = plain.encode_utf16().fold(String::new(), |mut text, unit| {
        match char::from_u32(unit.into()).filter(char::is_ascii) {
            Some(letter) => text.push(letter),
            None => text.push_str(&format!("\\u{unit:04x}")),
        }
        text
    });
    let id = format!("\"{id}\"");
    let text = args.get().replace(&plain, &id).replace(&escaped, &id);
    RawValue::from_string(text).unwrap_or(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_in_arguments_become_ids_however_they_are_written() {
        let id = BlobId::parse(&format!("blob:{}", "a".repeat(52))).unwrap();
        for (args, expected) in [
            (r#"{"f":"file:é.csv","g":["file:é.csv"]}"#, r#"{"f":"ID","g":["ID"]}"#),
            (r#"{"f":"file:\u00e9.csv"}"#, r#"{"f":"ID"}"#),
            (r#"{"f":"my file:é.csv"}"#, r#"{"f":"my file:é.csv"}"#),
        ] {
            let args = RawValue::from_string(args.to_owned()).unwrap();
            let expected = expected.replace("ID", &id.to_string());
            assert_eq!(replaced(args, "file:é.csv", &id).get(), expected);
        }
    }

    #[test]
    fn files_of_equal_content_are_mounted_once_and_repetitions_stay() {
        let ids = |listed: &[(&str, &str)]| {
            let listed = listed.iter();
            let listed = listed.map(|(text, id)| ((*text).to_owned(), InputBlob::Id((*id).into())));
            let kept = folded(listed.collect());
            kept.into_iter().map(|blob| blob.id().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            ids(&[("file:a", "1"), ("2", "2"), ("file:b", "1"), ("file:c", "2")]),
            ["1", "2"]
        );
        assert_eq!(ids(&[("file:a", "1"), ("1", "1")]), ["1"]);
        assert_eq!(ids(&[("file:a", "1"), ("file:a", "1")]), ["1", "1"], "it is refused later");
        assert_eq!(ids(&[("1", "1"), ("1", "1")]), ["1", "1"]);
    }

    #[test]
    fn a_name_that_is_missing_is_answered_with_those_there_are() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("a b.csv"), "x").unwrap();
        let folders = LocalFolders::open(&[place.path().to_owned()], None).unwrap();
        for address in ["file:a b.csv", "file:a%20b.csv"] {
            assert_eq!(folders.find(address).unwrap().1, "a b.csv");
        }
        let told = |address: &str| folders.find(address).unwrap_err().body.message;
        assert!(told("file:c.csv").contains("it has `file:a b.csv`"), "{}", told("file:c.csv"));
        assert!(told("file:%2e%2e/x").contains("without `..`"), "{}", told("file:%2e%2e/x"));
        let (path, _) = LocalFolders::open(&["/none/at/all".into()], None).unwrap_err();
        assert_eq!(path, Path::new("/none/at/all"));
        let none = LocalFolders::default().find("file:x").unwrap_err().body.message;
        assert!(none.contains("without `--files FOLDER`"), "{none}");
    }

    #[test]
    fn a_name_in_two_folders_is_that_of_the_first_and_the_other_has_its_folder() {
        let place = tempfile::tempdir().unwrap();
        let [fa, fb] = ["fa", "fb"].map(|name| place.path().join(name));
        let other = place.path().join("deep/fb");
        for (folder, text) in [(&fa, "1"), (&fb, "2"), (&other, "3")] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("d.csv"), text).unwrap();
        }
        std::fs::write(fb.join("only.csv"), "4").unwrap();
        let open = |paths: &[&PathBuf]| {
            let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
            LocalFolders::open(&paths, None).unwrap()
        };
        let folders = open(&[&fa, &fb, &other, &fa]);
        let listed: Vec<String> = folders.listed().into_iter().map(|file| file.name).collect();
        assert_eq!(listed, ["d.csv", "fb/d.csv", "only.csv", "fb (2)/d.csv"]);
        let read = |folders: &LocalFolders, name: &str| {
            io::read_to_string(folders.find(name).unwrap().0).unwrap()
        };
        for (name, text) in listed.iter().zip(["1", "2", "4", "3"]) {
            assert_eq!(read(&folders, &format!("{FILE}{name}")), text);
        }
        assert_eq!(read(&folders, "file:fb%20(2)/d.csv"), "3");
        assert!(folders.find("file:fb/../d.csv").is_err());
        let same: Vec<_> = folders.same_names().into_iter().map(|same| same.other).collect();
        assert_eq!(same, ["fb/d.csv", "fb (2)/d.csv"]);
        // A folder's own files are never behind a label.
        std::fs::create_dir(fa.join("fb")).unwrap();
        std::fs::write(fa.join("fb/d.csv"), "5").unwrap();
        let folders = open(&[&fa, &fb]);
        assert_eq!(read(&folders, "file:fb/d.csv"), "5");
        assert_eq!(read(&folders, "file:fb (2)/d.csv"), "2");
    }

    #[test]
    fn texts_are_found_in_json_however_they_are_written() {
        let json = r#"{"a\\": ["file:x", "say \"file:y\""], "b": {"c": "file:\u00e9"}, "d": ""}"#;
        let found: Vec<String> = texts(json).collect();
        assert_eq!(found, ["a\\", "file:x", "say \"file:y\"", "b", "c", "file:é", "d", ""]);
        assert_eq!(texts(r#"{"broken"#).count(), 0);
    }
}
