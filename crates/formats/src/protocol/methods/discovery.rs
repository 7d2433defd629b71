//! Wire types of `list_skills`, `describe_skill` and `read_skill_file`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::protocol::methods::blobs::Encoding;
use wardian_vocabulary::ids::{SkillName, SkillVersion};

/// The parameters of `list_skills`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSkillsParams {
    /// Only skills of this namespace.
    pub namespace: Option<String>,
    /// The detail of each entry.
    pub detail: ListDetail,
    /// Most skills to return, from 1 to 500.
    pub limit: usize,
    /// The cursor of the previous page.
    pub cursor: Option<String>,
}

/// The levels of detail of `list_skills`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListDetail {
    /// Name and version.
    Names,
    /// Description, namespace, kind and tags as well.
    Summary,
}

/// The result of `list_skills`.
#[derive(Debug, Serialize)]
pub struct ListSkillsResult {
    /// The skills of this page, sorted.
    pub skills: Vec<ListedSkill>,
    /// The cursor for the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// One skill of a list.
#[derive(Debug, Serialize)]
pub struct ListedSkill {
    /// Its name.
    pub name: SkillName,
    /// Its latest version.
    pub version: SkillVersion,
    /// The summary, with `detail: "summary"`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SkillSummary>,
}

/// The summary of a skill beyond its name and version.
#[derive(Debug, Serialize)]
pub struct SkillSummary {
    /// The description, one line.
    pub description: String,
    /// The group that the skill belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Whether the skill can be executed.
    pub kind: ListedKind,
    /// The skill's labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// The kinds of skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ListedKind {
    /// A skill with code, which can be executed.
    Action,
    /// A skill without code, which can only be read.
    Instruction,
}

/// The parameters of `describe_skill`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DescribeSkillParams {
    /// Name of the skill, as sent.
    pub name: String,
    /// Its version, as sent; the latest without it.
    pub version: Option<String>,
    /// The level of detail.
    pub detail: DescribeDetail,
}

/// The levels of detail of `describe_skill`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DescribeDetail {
    /// The manifest.
    Manifest,
    /// The frontmatter of SKILL.md as well.
    Summary,
    /// All of SKILL.md as well.
    Full,
}

/// The result of `describe_skill`.
#[derive(Debug, Serialize)]
pub struct DescribeSkillResult {
    /// The skill.
    pub skill: DescribedSkill,
}

/// The description of a skill.
#[derive(Debug, Serialize)]
pub struct DescribedSkill {
    /// The skill.toml as JSON.
    pub manifest: Box<RawValue>,
    /// The frontmatter of SKILL.md as JSON; not with `detail: "manifest"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_md_frontmatter: Option<Box<RawValue>>,
    /// SKILL.md with its frontmatter; only with `detail: "full"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill_md_content: Option<String>,
    /// The JSON Schema of `args`; only with `detail: "full"`, for skills with code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Box<RawValue>>,
    /// Its scripts, at most [`MAX_DESCRIBED_SCRIPTS`]; only with `detail: "full"`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<DescribedScript>,
    /// The number of all scripts, if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scripts_total: Option<u64>,
    /// The trusted key that has signed the skill; only with `detail: "full"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
}

/// Most scripts that a description lists.
pub const MAX_DESCRIBED_SCRIPTS: usize = 100;

/// A script of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DescribedScript {
    /// Its path below the skill's folder: `script` of `execute_skill`.
    pub path: String,
    /// The first line of what it says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// The parameters of `read_skill_file`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadSkillFileParams {
    /// Name of the skill, as sent.
    pub name: String,
    /// Its version, as sent; the latest without it.
    pub version: Option<String>,
    /// Path of the file below the skill's folder, as sent.
    pub path: String,
}

/// The result of `read_skill_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadSkillFileResult {
    /// The file, or its base64.
    pub content: String,
    /// `base64` for a file that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(summary: Option<SkillSummary>) -> String {
        let name = SkillName::parse("salesforce.leads.sync").unwrap();
        let version = SkillVersion::parse("0.1.0").unwrap();
        let skills = vec![ListedSkill { name, version, summary }];
        serde_json::to_string(&ListSkillsResult { skills, next_cursor: None }).unwrap()
    }

    #[test]
    fn a_list_looks_as_the_protocol_shows_it() {
        assert_eq!(
            listed(None),
            r#"{"skills":[{"name":"salesforce.leads.sync","version":"0.1.0"}],"next_cursor":null}"#
        );
        let summary = SkillSummary {
            description: "Sync leads.".into(),
            namespace: Some("salesforce".into()),
            kind: ListedKind::Action,
            tags: Vec::new(),
        };
        assert_eq!(
            listed(Some(summary)),
            concat!(
                r#"{"skills":[{"name":"salesforce.leads.sync","version":"0.1.0","#,
                r#""description":"Sync leads.","namespace":"salesforce","kind":"action"}],"#,
                r#""next_cursor":null}"#
            )
        );
    }

    #[test]
    fn a_description_keeps_the_manifests_own_order() {
        let manifest = RawValue::from_string(r#"{"name":"z","a":1}"#.into()).unwrap();
        let skill = DescribedSkill {
            manifest,
            skill_md_frontmatter: None,
            skill_md_content: None,
            input_schema: None,
            scripts: Vec::new(),
            scripts_total: None,
            signer: None,
        };
        assert_eq!(
            serde_json::to_string(&DescribeSkillResult { skill }).unwrap(),
            r#"{"skill":{"manifest":{"name":"z","a":1}}}"#
        );
    }

    #[test]
    fn only_a_file_that_is_not_text_has_an_encoding() {
        let file = |encoding| {
            serde_json::to_string(&ReadSkillFileResult { content: "x".into(), encoding }).unwrap()
        };
        assert_eq!(file(None), r#"{"content":"x"}"#);
        assert_eq!(file(Some(Encoding::Base64)), r#"{"content":"x","encoding":"base64"}"#);
    }
}
