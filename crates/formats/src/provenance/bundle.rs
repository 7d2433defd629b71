//! The names of the files in a bundle: a document, and all contents that it names.
//!
//! ```text
//! RECORD.json                       the document, or the signed document
//! blobs/<letters of the id>         a blob that the run could read, and its network record
//! layers/<key>.layer                packages of its skills
//! skills/<name>@<version>/<path>    a file of a skill
//! texts/<digest>                    a program or arguments, if they are long
//! ```
//!
//! The batteries and the engine are not in it: they belong to a machine. The document has their
//! digests.

use crate::job::LayerPlace;
use crate::provenance::document::{DocumentProgram, DocumentSkill, RunInputs};
use crate::provenance::fault::ProvenanceError;
use crate::provenance::signed_document::MAX_SIGNED_DOCUMENT;
use crate::provenance::tar::TarEntry;
use crate::provenance::text::DocumentText;
use crate::skill::GUIDE_NAME;
use crate::skill::path::is_left_out;
use wardian_vocabulary::ids::{Digest, SkillName};
use wardian_vocabulary::units::ByteCount;

/// The name of the document's file.
pub const DOCUMENT_NAME: &str = "RECORD.json";

/// Largest layer: its files, and their index.
const MAX_LAYER: ByteCount = ByteCount::mebibytes(528);

/// Largest file of a skill.
const MAX_SKILL_FILE: ByteCount = ByteCount::mebibytes(16);

/// Maximum number of files of all skills.
const MAX_SKILL_FILES: usize = 66_000;

/// The file of a blob or a text, or of a layer.
#[must_use]
pub fn blob_name(letters: &str) -> String {
    format!("blobs/{letters}")
}

/// The file of a text.
#[must_use]
pub fn text_name(text: &DocumentText) -> String {
    format!("texts/{}", text.sha256)
}

/// The file of a layer whose key is `key`.
#[must_use]
pub fn layer_name(key: &str) -> String {
    format!("layers/{key}.layer")
}

/// The folder of a skill.
#[must_use]
pub fn skill_folder(skill: &DocumentSkill) -> String {
    format!("skills/{}@{}", skill.name, skill.version)
}

/// True for a skill that is part of every Wardian and of no bundle.
#[must_use]
pub fn is_in_program(name: &SkillName) -> bool {
    name.as_str() == GUIDE_NAME
}

/// The long texts of a document.
#[must_use]
pub fn long_texts(inputs: &RunInputs) -> Vec<(&'static str, &DocumentText)> {
    let program = match &inputs.program {
        DocumentProgram::Code { source, .. } => Some(("program", source)),
        DocumentProgram::Skill { .. } => None,
    };
    let texts = program.into_iter().chain([("arguments", &inputs.arguments)]);
    texts.filter(|(_, text)| text.text.is_none()).collect()
}

/// The digests of the layers of a bundle.
#[must_use]
pub fn layers(inputs: &RunInputs) -> Vec<Digest> {
    let layers = inputs.layers.iter().filter(|layer| layer.place == LayerPlace::Skill);
    layers.map(|layer| layer.digest).collect()
}

/// Checks the files of a bundle against its document, one after the other.
#[derive(Debug)]
pub struct BundleContents<'r> {
    inputs: &'r RunInputs,
    /// Files that must still come.
    missing: Vec<String>,
    layers: usize,
    skill_files: usize,
}

impl<'r> BundleContents<'r> {
    /// The files that a bundle with this document must have.
    #[must_use]
    pub fn of(inputs: &'r RunInputs) -> Self {
        let blobs = inputs.contents().map(|blob| blob_name(blob.id.letters()));
        let texts = long_texts(inputs).into_iter().map(|(_, text)| text_name(text));
        let mut missing: Vec<_> = blobs.chain(texts).collect();
        missing.sort_unstable();
        missing.dedup();
        Self { inputs, missing, layers: layers(inputs).len(), skill_files: 0 }
    }

    /// Maximum size of the document.
    #[must_use]
    pub const fn largest_document() -> ByteCount {
        MAX_SIGNED_DOCUMENT
    }

    /// Accepts a file that the document names, with the size that it may have.
    ///
    /// # Errors
    ///
    /// The document does not name it, or it has another size.
    pub fn accept(&mut self, entry: &TarEntry) -> Result<(), ProvenanceError> {
        let TarEntry { name, size } = entry;
        let size = *size;
        let is_fitting = match name.split_once('/') {
            Some(("blobs" | "texts", _)) => {
                let at = self.missing.iter().position(|missing| missing == name);
                at.map(|at| self.missing.swap_remove(at)).is_some()
                    && self.size_of(name) == Some(size)
            }
            Some(("layers", file)) => {
                let key = file.strip_suffix(".layer").map(Digest::parse);
                self.layers = self.layers.checked_sub(1).ok_or_else(|| extra(name))?;
                matches!(key, Some(Ok(_))) && size <= MAX_LAYER.as_u64()
            }
            Some(("skills", _)) => {
                self.skill_files = self.skill_files.saturating_add(1);
                self.is_of_skill(name)
                    && size <= MAX_SKILL_FILE.as_u64()
                    && self.skill_files <= MAX_SKILL_FILES
            }
            _ => false,
        };
        if is_fitting { Ok(()) } else { Err(extra(name)) }
    }

    /// Checks that nothing is missing.
    ///
    /// # Errors
    ///
    /// The first file that is.
    pub fn finish(self) -> Result<(), ProvenanceError> {
        if let Some(missing) = self.missing.first() {
            return Err(ProvenanceError::Bundle(format!("`{missing}` is missing")));
        }
        if self.layers > 0 {
            return Err(ProvenanceError::Bundle("a layer of packages is missing".to_owned()));
        }
        Ok(())
    }

    fn size_of(&self, name: &str) -> Option<u64> {
        let mut blobs = self.inputs.contents();
        let blob = blobs.find(|blob| blob_name(blob.id.letters()) == name);
        let texts = || {
            let mut texts = long_texts(self.inputs).into_iter();
            texts.find(|(_, text)| text_name(text) == name).map(|(_, text)| text.size_bytes)
        };
        blob.map(|blob| blob.size_bytes).or_else(texts)
    }

    fn is_of_skill(&self, name: &str) -> bool {
        let skills = self.inputs.skills.iter().filter(|skill| !is_in_program(&skill.name));
        let paths = skills.filter_map(|skill| {
            name.strip_prefix(&skill_folder(skill)).and_then(|rest| rest.strip_prefix('/'))
        });
        // What a registry leaves out of a skill has no digest.
        paths.into_iter().any(|path| !path.split('/').any(is_left_out))
    }
}

fn extra(name: &str) -> ProvenanceError {
    let name: String = name.chars().take(120).collect();
    ProvenanceError::Bundle(format!(
        "the document does not refer to a file `{}` of this size",
        name.escape_debug()
    ))
}
