//! Documents of runs that can be executed again: canonical JSON that names everything by digest,
//! their differences, bundles and signatures.
//!
//! Knows nothing of the database of a server, which is `wardian_stores::records`, and starts no
//! run. The service makes documents; the command line reads, compares and packs them.

pub mod bundle;
pub mod canonical;
mod check;
pub mod difference;
pub mod document;
mod ed25519_keys;
mod fault;
pub mod network;
pub mod session;
mod signed_document;
pub mod skill_signature;
pub mod tar;
mod text;
mod unrepeatable;

pub use crate::provenance::check::ensure_arguments;
pub use crate::provenance::difference::{Difference, OtherInputs};
pub use crate::provenance::document::{
    DocumentBlob, DocumentError, DocumentFile, DocumentLayer, DocumentLimits, DocumentLog,
    DocumentProgram, DocumentSkill, DocumentStatus, EngineIdentity, MAX_DOCUMENT, MAX_PIECES,
    MadeBy, NETWORK_KIND, RunDocument, RunEnding, RunInputs, Toolchain,
};
pub use crate::provenance::ed25519_keys::{PrivateKey, PublicKey};
pub use crate::provenance::fault::ProvenanceError;
pub use crate::provenance::network::NetworkDocument;
pub use crate::provenance::session::asked::{
    DocumentAnswer, DocumentRequest, DocumentRound, DocumentTools, MAX_ROUNDS, PartEnding,
};
pub use crate::provenance::session::cell::{
    CellEnding, CellInputs, CellRun, DisplayDigest, LogDigest, SessionCell, SessionCellState,
};
pub use crate::provenance::session::document::{MAX_CELLS, SessionDocument, SessionInputs};
pub use crate::provenance::signed_document::{MAX_SIGNED_DOCUMENT, SignedDocument};
pub use crate::provenance::text::DocumentText;
pub use crate::provenance::unrepeatable::Unrepeatable;
