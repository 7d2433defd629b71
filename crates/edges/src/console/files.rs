//! The files of the console, as they are in the program.

use std::sync::LazyLock;

use wardian_vocabulary::ids::Digest;

/// A file of the console.
#[derive(Debug)]
pub(crate) struct PageFile {
    pub name: &'static str,
    pub kind: &'static str,
    pub bytes: &'static [u8],
    /// The tag of its content, in quotes.
    pub tag: String,
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// Names and contents, in the order of their names.
#[rustfmt::skip]
const SOURCES: [(&str, &str, &[u8]); 27] = [
    ("api.js", SCRIPT, include_bytes!("page/api.js")),
    ("app.js", SCRIPT, include_bytes!("page/app.js")),
    ("asked.js", SCRIPT, include_bytes!("page/asked.js")),
    ("blobs.js", SCRIPT, include_bytes!("page/blobs.js")),
    ("cell.js", SCRIPT, include_bytes!("page/cell.js")),
    ("chart.js", SCRIPT, include_bytes!("page/chart.js")),
    ("checkpoints.js", SCRIPT, include_bytes!("page/checkpoints.js")),
    ("csv.js", SCRIPT, include_bytes!("page/csv.js")),
    ("display.js", SCRIPT, include_bytes!("page/display.js")),
    ("dom.js", SCRIPT, include_bytes!("page/dom.js")),
    ("editor.js", SCRIPT, include_bytes!("page/editor.js")),
    ("format.js", SCRIPT, include_bytes!("page/format.js")),
    ("html.js", SCRIPT, include_bytes!("page/html.js")),
    ("icon.svg", IMAGE, include_bytes!("page/icon.svg")),
    ("index.html", HTML, include_bytes!("page/index.html")),
    ("markdown.js", SCRIPT, include_bytes!("page/markdown.js")),
    ("notebook.js", SCRIPT, include_bytes!("page/notebook.js")),
    ("overview.js", SCRIPT, include_bytes!("page/overview.js")),
    ("playground.js", SCRIPT, include_bytes!("page/playground.js")),
    ("preview.js", SCRIPT, include_bytes!("page/preview.js")),
    ("python.js", SCRIPT, include_bytes!("page/python.js")),
    ("run_panel.js", SCRIPT, include_bytes!("page/run_panel.js")),
    ("runs.js", SCRIPT, include_bytes!("page/runs.js")),
    ("sessions.js", SCRIPT, include_bytes!("page/sessions.js")),
    ("skills.js", SCRIPT, include_bytes!("page/skills.js")),
    ("style.css", STYLE, include_bytes!("page/style.css")),
    ("tenants.js", SCRIPT, include_bytes!("page/tenants.js")),
];

/// All files.
pub(crate) static FILES: LazyLock<Vec<PageFile>> = LazyLock::new(|| {
    let tag = |bytes| format!("\"{}\"", Digest::of(bytes));
    let files = SOURCES.into_iter();
    files.map(|(name, kind, bytes)| PageFile { name, kind, bytes, tag: tag(bytes) }).collect()
});

/// The file of this name.
pub(super) fn find(name: &str) -> Option<&'static PageFile> {
    FILES.iter().find(|file| file.name == name)
}
