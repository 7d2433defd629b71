"""read_skill_file."""

from ..case import DISCOVERY, MUST, SCHEMAS, SHOULD, TOOLS, case, expect, expect_equal, shown
from ..skills_folder import OLDER_VERSION, text

READ = "read_skill_file"
SECURITY = "Security"
GUIDE = "conformance.guide.reading"
NEIGHBOUR = "conformance.guide.readings"
ENTRY = "conformance.entry.custom"
MANY = "conformance.versions.many"


def read(session, name, path, **params):
    """The content of a file."""
    content = session.call("read_skill_file", name=name, path=path, **params).get("content")
    expect(isinstance(content, str), f"`content` is a text, got {shown(content)}")
    return content


def refuse(session, *paths):
    """Expects that each path is refused."""
    for path in paths:
        session.error("read_skill_file", name=GUIDE, path=path)


@case("files.document", MUST, DISCOVERY(READ, '"SKILL.md" — Main documentation'), (GUIDE,))
def document(session):
    """SKILL.md is read with its frontmatter, to the letter."""
    expect_equal(read(session, GUIDE, "SKILL.md"), text(GUIDE, "SKILL.md"), "`content`")


@case("files.manifest", MUST, DISCOVERY(READ, "Read any file in a skill's directory."), (GUIDE,))
def manifest(session):
    """skill.toml is read as it is."""
    expect_equal(read(session, GUIDE, "skill.toml"), text(GUIDE, "skill.toml"), "`content`")


@case("files.code", MUST, TOOLS(READ, "Read any file in a skill's directory"), (ENTRY,))
def code(session):
    """Files of `code/` are read, helper modules too."""
    for path in ("code/start.py", "code/words.py"):
        expect_equal(read(session, ENTRY, path), text(ENTRY, path), f"`content` of {path}")


@case("files.resource", MUST, DISCOVERY(READ, "schemas, examples, and other supporting files"), (GUIDE,))
def resource(session):
    """Files in folders of `resources/` are read."""
    path = "resources/deep/table.csv"
    expect_equal(read(session, GUIDE, path), text(GUIDE, path), "`content`")


@case("files.unicode", MUST, DISCOVERY(READ, "The file's content as a string"), (GUIDE,))
def unicode_text(session):
    """Letters beyond ASCII, tabs, quotes and backslashes come through unchanged."""
    path = "resources/notes.md"
    expect_equal(read(session, GUIDE, path), text(GUIDE, path), "`content`")


@case("files.version", MUST, DISCOVERY(READ, "If omitted, uses the latest version."), (MANY, OLDER_VERSION))
def version(session):
    """With `version` the files of that version are read, without it those of the latest."""
    path = "code/main.py"
    expect_equal(read(session, MANY, path, version="1.9.0"), text(OLDER_VERSION, path), "`content` of 1.9.0")
    expect_equal(read(session, MANY, path), text(MANY, path), "`content` of the latest")


@case("files.version-unknown", MUST, DISCOVERY(READ, "Skill version."), (GUIDE,))
def version_unknown(session):
    """A version that is not there is refused."""
    session.error("read_skill_file", name=GUIDE, path="SKILL.md", version="9.9.9")


@case(
    "files.escape-parent",
    MUST,
    DISCOVERY(SECURITY, "Reject paths attempting to escape (e.g., ../, absolute paths)"),
    (GUIDE,),
)
def escape_parent(session):
    """Paths with `..` are refused, also those that lead to a file of another skill."""
    refuse(session, "../conformance.echo.args/SKILL.md", "../../../../../../etc/passwd", "..")


@case("files.escape-inside", MUST, DISCOVERY(SECURITY, "Restrict path to the skill's directory"), (GUIDE,))
def escape_inside(session):
    """A `..` behind folders that exist is refused if it leads out."""
    refuse(
        session,
        "resources/../../conformance.echo.args/SKILL.md",
        "resources/deep/../../../conformance.echo.args/skill.toml",
    )


@case(
    "files.escape-neighbour",
    MUST,
    DISCOVERY(SECURITY, "Restrict path to the skill's directory"),
    (GUIDE, NEIGHBOUR),
)
def escape_neighbour(session):
    """A skill whose folder's name begins with this one's cannot be reached."""
    refuse(session, f"../{NEIGHBOUR}/SKILL.md", f"resources/../../{NEIGHBOUR}/SKILL.md")


@case(
    "files.escape-absolute",
    MUST,
    DISCOVERY(SECURITY, "Reject paths attempting to escape (e.g., ../, absolute paths)"),
    (GUIDE,),
)
def escape_absolute(session):
    """Absolute paths are refused."""
    refuse(session, "/etc/passwd", "/SKILL.md", "//etc/passwd", "file:///etc/passwd")


@case("files.escape-disguised", MUST, DISCOVERY(SECURITY, "Restrict path to the skill's directory"), (GUIDE,))
def escape_disguised(session):
    """Percent signs, backslashes and NUL open no way out."""
    refuse(
        session,
        "%2e%2e/conformance.echo.args/SKILL.md",
        "..%2fconformance.echo.args%2fSKILL.md",
        "..\\conformance.echo.args\\SKILL.md",
        "SKILL.md\u0000.txt",
    )


@case("files.missing", MUST, DISCOVERY(SECURITY, "Return an error for non-existent files"), (GUIDE,))
def missing(session):
    """A file that is not there is refused."""
    refuse(session, "resources/missing.md", "missing/SKILL.md")


@case("files.folder", SHOULD, DISCOVERY(READ, "Path to file within the skill directory."), (GUIDE,))
def folder(session):
    """A folder is no file: it is refused."""
    refuse(session, "resources", "resources/", ".")


@case("files.empty-path", SHOULD, DISCOVERY(READ, "Path to file within the skill directory."), (GUIDE,))
def empty_path(session):
    """An empty path is refused."""
    refuse(session, "")


@case("files.unknown-skill", MUST, DISCOVERY(READ, "Skill name"))
def unknown_skill(session):
    """A skill that is not there is refused, also one that is named by a path."""
    for name in ("conformance.no.such", f"../{GUIDE}", "/etc"):
        session.error("read_skill_file", name=name, path="SKILL.md")


@case("files.name-required", MUST, SCHEMAS(READ, '"required": ["name", "path"]'))
def name_required(session):
    """A call without `name` is refused."""
    session.error("read_skill_file", path="SKILL.md")


@case("files.path-required", MUST, SCHEMAS(READ, '"required": ["name", "path"]'), (GUIDE,))
def path_required(session):
    """A call without `path` is refused."""
    session.error("read_skill_file", name=GUIDE)
