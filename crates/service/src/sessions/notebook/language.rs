//! What a notebook of Jupyter says of its language: `metadata` of nbformat 4 (`nbformat.readthedocs.io`).

use serde::Deserialize;

/// Names of Python as a language.
const PYTHON: [&str; 2] = ["python", "ipython"];

/// The metadata of a notebook, as far as they name its language.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct NotebookMetadata {
    language_info: Option<LanguageInfo>,
    kernelspec: Option<KernelSpec>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LanguageInfo {
    name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KernelSpec {
    language: Option<String>,
}

impl NotebookMetadata {
    /// The language of the notebook, if it names one and that is not Python. A notebook that was never executed names
    /// the language of its kernel alone.
    #[must_use]
    pub fn other_language(&self) -> Option<&str> {
        let executed = self.language_info.as_ref().and_then(|info| info.name.as_deref());
        let chosen = self.kernelspec.as_ref().and_then(|kernel| kernel.language.as_deref());
        let is_python = |name: &str| PYTHON.iter().any(|known| name.eq_ignore_ascii_case(known));
        executed.or(chosen).filter(|name| !is_python(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_languages_are_named() {
        for (metadata, other) in [
            ("{}", None),
            (r#"{"language_info": null, "kernelspec": {"name": "ir"}, "authors": []}"#, None),
            (r#"{"language_info": {"name": "python", "version": "3.13"}}"#, None),
            (r#"{"kernelspec": {"language": "Python"}}"#, None),
            (r#"{"language_info": {"name": "R"}, "kernelspec": {"language": "R"}}"#, Some("R")),
            (r#"{"kernelspec": {"language": "julia"}}"#, Some("julia")),
        ] {
            let read: NotebookMetadata = serde_json::from_str(metadata).unwrap();
            assert_eq!(read.other_language(), other, "{metadata}");
        }
    }
}
