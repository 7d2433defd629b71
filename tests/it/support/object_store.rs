//! An object store that checks signatures and conditions.

use std::fs;
use std::path::PathBuf;

use super::FixtureServer;

/// The store, until it is dropped.
pub(crate) struct ObjectStore(FixtureServer);

impl ObjectStore {
    pub(crate) fn start() -> Self {
        Self(FixtureServer::start("tests/sources/object_store.py"))
    }

    pub(crate) fn address(&self) -> String {
        format!("http://localhost:{}", self.0.port)
    }

    /// The place of an object. Making its folder makes its bucket.
    pub(crate) fn object(&self, key: &str) -> PathBuf {
        let place = self.0.folder.path().join("objects").join(key);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        place
    }

    /// The names of the objects below a key.
    pub(crate) fn names(&self, key: &str) -> Vec<String> {
        let Ok(found) = fs::read_dir(self.object(key)) else { return Vec::new() };
        let mut names: Vec<String> =
            found.map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.0.folder.path().join("log")).unwrap_or_default()
    }

    /// What a server needs to use the store.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL", self.address()),
            ("AWS_REGION", "eu-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "AKIDTESTS".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "very/secret+key".to_owned()),
        ]
    }

    /// Lets the store answer nothing, or all again.
    pub(crate) fn set_out(&self, is_out: bool) {
        let mark = self.0.folder.path().join("out");
        if is_out {
            fs::write(mark, "").unwrap();
        } else {
            fs::remove_file(mark).unwrap();
        }
    }
}
