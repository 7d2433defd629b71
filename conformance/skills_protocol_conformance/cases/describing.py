"""describe_skill."""

from ..case import DISCOVERY, MANIFEST, MUST, SCHEMAS, SHOULD, STRUCTURE, case, expect, expect_equal, shown
from ..skills_folder import OLDER_VERSION, text

DESCRIBE = "describe_skill"
FULL = "conformance.manifest.full"
MANY = "conformance.versions.many"
GUIDE = "conformance.guide.reading"

FULL_MANIFEST = {
    "name": FULL,
    "version": "2.3.1",
    "description": "Has a manifest with every field, to be described and not to be executed.",
    "kind": "action",
    "namespace": "conformance",
    "tags": ["conformance", "manifest", "complete"],
    "runtime": {"language": "python", "entrypoint": "code/main.py", "export": "main"},
    "inputs": {
        "table_blob": {"type": "blob", "description": "Blob id of a table"},
        "target": {
            "type": "string",
            "enum": ["dev", "staging", "prod"],
            "description": "Target environment",
        },
        "batch_size": {"type": "integer", "default": 100, "description": "Records per batch"},
    },
    "permissions": {"network": ["https://api.example.com"]},
}


def describe(session, name, **params):
    """The description of a skill."""
    skill = session.call("describe_skill", name=name, **params).get("skill")
    expect(isinstance(skill, dict), f"`skill` is an object, got {shown(skill)}")
    return skill


def has(skill, member):
    """Says whether a member is there and not null."""
    return skill.get(member) is not None


def manifest_of(session, name, **params):
    """The manifest of a skill."""
    manifest = describe(session, name, **params).get("manifest")
    expect(isinstance(manifest, dict), f"`manifest` is an object, got {shown(manifest)}")
    return manifest


@case("describe.manifest", MUST, DISCOVERY(DESCRIBE, "manifest — Parsed skill.toml as JSON"), (FULL,))
def manifest(session):
    """`manifest` has name, version, description, kind, namespace and tags of the skill.toml."""
    described = manifest_of(session, FULL)
    for member in ("name", "version", "description", "kind", "namespace", "tags"):
        expect_equal(described.get(member), FULL_MANIFEST[member], f"`{member}`")


@case("describe.runtime", MUST, MANIFEST("Runtime section", "Required for action skills"), (FULL,))
def runtime(session):
    """`manifest.runtime` of an action has language, entrypoint and export."""
    described = manifest_of(session, FULL).get("runtime")
    expect(isinstance(described, dict), f"`runtime` is an object, got {shown(described)}")
    for member, wanted in FULL_MANIFEST["runtime"].items():
        expect_equal(described.get(member), wanted, f"`runtime.{member}`")


@case(
    "describe.inputs",
    MUST,
    MANIFEST("Input schema", "Informal input documentation (for LLM and humans)"),
    (FULL,),
)
def inputs(session):
    """`manifest.inputs` has each input with its type, description, values and default."""
    expect_equal(manifest_of(session, FULL).get("inputs"), FULL_MANIFEST["inputs"], "`inputs`")


@case("describe.permissions", MUST, MANIFEST("Permissions", "Declare what the skill needs to run"), (FULL,))
def permissions(session):
    """`manifest.permissions` has the network patterns."""
    described = manifest_of(session, FULL).get("permissions")
    expect(isinstance(described, dict), f"`permissions` is an object, got {shown(described)}")
    expect_equal(described.get("network"), FULL_MANIFEST["permissions"]["network"], "`permissions.network`")


@case("describe.instruction", MUST, MANIFEST("Runtime section", "omitted for instruction skills"), (GUIDE,))
def instruction(session):
    """The manifest of an instruction skill has the kind \"instruction\" and no runtime."""
    described = manifest_of(session, GUIDE)
    expect_equal(described.get("kind"), "instruction", "`kind`")
    expect(not has(described, "runtime"), f"no `runtime`, got {shown(described.get('runtime'))}")


@case(
    "describe.frontmatter",
    MUST,
    DISCOVERY(DESCRIBE, "skill_md_frontmatter — Parsed YAML frontmatter from SKILL.md"),
    (FULL,),
)
def frontmatter(session):
    """`skill_md_frontmatter` has title, short description and tags of the SKILL.md, as JSON."""
    described = describe(session, FULL, detail="summary").get("skill_md_frontmatter")
    wanted = {
        "name": "Complete Manifest",
        "short_description": "Has a manifest with every field.",
        "tags": ["conformance", "manifest", "complete"],
    }
    expect_equal(described, wanted, "`skill_md_frontmatter`")


@case(
    "describe.detail-manifest",
    MUST,
    DISCOVERY(DESCRIBE, '"manifest" — Only the skill.toml manifest'),
    (FULL,),
)
def detail_manifest(session):
    """With \"manifest\" there is neither frontmatter nor content."""
    skill = describe(session, FULL, detail="manifest")
    expect(isinstance(skill.get("manifest"), dict), "the manifest is there")
    for member in ("skill_md_frontmatter", "skill_md_content"):
        expect(not has(skill, member), f"no `{member}`")


@case(
    "describe.detail-summary",
    MUST,
    DISCOVERY(DESCRIBE, 'skill_md_content — Full SKILL.md content (only if detail="full")'),
    (FULL,),
)
def detail_summary(session):
    """With \"summary\" there are manifest and frontmatter, and no content."""
    skill = describe(session, FULL, detail="summary")
    for member in ("manifest", "skill_md_frontmatter"):
        expect(has(skill, member), f"`{member}` is there")
    expect(not has(skill, "skill_md_content"), "no `skill_md_content`")


@case("describe.detail-default", MUST, DISCOVERY(DESCRIBE, 'Default: "summary"'), (FULL,))
def detail_default(session):
    """Without `detail` the answer is that of \"summary\"."""
    expect_equal(describe(session, FULL), describe(session, FULL, detail="summary"), "`skill`")


@case(
    "describe.detail-full",
    MUST,
    DISCOVERY(DESCRIBE, '"full" — Manifest + frontmatter + full SKILL.md content'),
    (FULL,),
)
def detail_full(session):
    """With \"full\" there is all of SKILL.md, to the letter, beside manifest and frontmatter."""
    skill = describe(session, FULL, detail="full")
    for member in ("manifest", "skill_md_frontmatter"):
        expect(has(skill, member), f"`{member}` is there")
    expect_equal(skill.get("skill_md_content"), text(FULL, "SKILL.md"), "`skill_md_content`")


@case("describe.detail-unknown", SHOULD, DISCOVERY(DESCRIBE, "Level of detail to return"), (FULL,))
def detail_unknown(session):
    """A `detail` that does not exist is refused."""
    session.error("describe_skill", name=FULL, detail="everything")


@case("describe.version", MUST, DISCOVERY(DESCRIBE, "Specific skill version."), (MANY, OLDER_VERSION))
def version(session):
    """With `version` the skill of that version is described."""
    for wanted in ("1.9.0", "1.10.0"):
        expect_equal(manifest_of(session, MANY, version=wanted).get("version"), wanted, "`version`")


@case(
    "describe.version-latest",
    MUST,
    DISCOVERY(DESCRIBE, "If omitted, returns the latest version."),
    (MANY, OLDER_VERSION),
)
def version_latest(session):
    """Without `version` the latest is described, by the order of versions: 1.10.0 comes after 1.9.0."""
    expect_equal(manifest_of(session, MANY).get("version"), "1.10.0", "`version`")


@case("describe.version-unknown", MUST, DISCOVERY(DESCRIBE, "Specific skill version."), (FULL,))
def version_unknown(session):
    """A version that is not there is refused, and no other one described instead."""
    session.error("describe_skill", name=FULL, version="9.9.9")


@case("describe.unknown", MUST, DISCOVERY(DESCRIBE, "Retrieve a skill's manifest"))
def unknown(session):
    """A skill that is not there is refused."""
    session.error("describe_skill", name="conformance.no.such")


@case("describe.name-required", MUST, SCHEMAS(DESCRIBE, '"required": ["name"]'))
def name_required(session):
    """A call without `name` is refused."""
    session.error("describe_skill", detail="summary")


@case("describe.documents", MUST, STRUCTURE("SKILL.md", "Every skill MUST have a SKILL.md file."))
def documents(session):
    """Every skill of the server (the first 20) has a SKILL.md with content."""
    for skill in session.call("list_skills", limit=20)["skills"]:
        full = describe(session, skill["name"], detail="full").get("skill_md_content")
        expect(isinstance(full, str) and full.strip(), f"`{skill['name']}` has a SKILL.md, got {shown(full)}")


@case("describe.manifests", MUST, STRUCTURE("skill.toml", "Every skill MUST have a skill.toml manifest."))
def manifests(session):
    """Every skill of the server (the first 20) has a manifest with the four required fields."""
    for skill in session.call("list_skills", limit=20)["skills"]:
        described = manifest_of(session, skill["name"], detail="manifest")
        for member in ("name", "version", "description", "kind"):
            expect(isinstance(described.get(member), str), f"`{skill['name']}` has `{member}`")
