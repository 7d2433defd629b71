"""Defects of read_skill_file."""

import posixpath
from urllib.parse import unquote

from ..refused import Refused
from .describing import any_version, by_last_part, finding, first_by_text
from .spoil import defect, filling, ignoring, recovering, simple


def reading(name, cases, change):
    """A defect in the content of files: `change(data, path)` gives other bytes."""
    simple(name, cases, "file_of", lambda data, skill, path: change(data, path))


def hiding(name, cases, is_hidden):
    """A defect that does not find some files."""

    def change(data, path):
        if is_hidden(path):
            raise Refused(-32602, "file_not_found", "the file does not exist")
        return data

    reading(name, cases, change)


reading(
    "documents without frontmatter",
    ["files.document"],
    lambda data, path: data.split(b"---\n", 2)[2] if path == "SKILL.md" else data,
)
hiding("no manifests", ["files.manifest"], lambda path: path == "skill.toml")
hiding("no code", ["files.code", "files.version"], lambda path: path.startswith("code/"))
hiding("no folders in resources", ["files.resource"], lambda path: path.count("/") > 1)
reading(
    "files in ASCII",
    ["files.unicode", "files.resource"],
    lambda data, path: data if path.endswith(".bin") else data.decode().encode("ascii", "replace"),
)
reading(
    "ends of lines of tables are changed",
    ["files.resource"],
    lambda data, path: data.replace(b"\n", b"\r\n") if path.endswith(".csv") else data,
)
ignoring(
    "versions are ignored when read", ["files.version", "files.version-unknown"], "read_skill_file", "version"
)
finding("versions are compared as texts when read", ["files.version"], "read_skill_file", first_by_text)
finding("another version is read", ["files.version-unknown"], "read_skill_file", any_version)
finding("a name can be a path", ["files.unknown-skill"], "read_skill_file", by_last_part)
filling("a file of no skill", ["files.name-required"], "read_skill_file", "name", "skills.protocol.guide")
filling("a file without a path", ["files.path-required"], "read_skill_file", "path", "SKILL.md")


def resolving(name, cases, resolve):
    """A defect in the way from a path to a file: `resolve(root, path)` gives a path or None."""

    def spoil(server):
        latest = server.sorted_skills()
        roots = {
            id(skill): f"/root/{skill.name}" if skill in latest else "/root/older" for skill in server.skills
        }
        tree = {
            f"{roots[id(skill)]}/{path}": data
            for skill in server.skills
            for path, data in skill.files.items()
        }
        tree["/etc/passwd"] = b"root:x:0:0::/root:/bin/sh\n"

        def file_of(skill, path):
            found = resolve(roots[id(skill)], path)
            if found not in tree:
                raise Refused(-32602, "file_not_found", "the file does not exist")
            return tree[found]

        server.file_of = file_of

    defect(name, *cases)(spoil)


def joined(root, path):
    """A path below the root, or wherever it leads."""
    return posixpath.normpath(posixpath.join(root, path)).replace("//", "/")


def inside(root, found):
    """The path, if it is below the root."""
    return found if found.startswith(f"{root}/") else None


resolving(
    "paths lead anywhere",
    ["files.escape-parent", "files.escape-inside", "files.escape-neighbour", "files.escape-absolute"],
    joined,
)
resolving(
    "only the beginning of a path is checked",
    ["files.escape-inside", "files.escape-neighbour"],
    lambda root, path: None if path.startswith(("..", "/")) else joined(root, path),
)
resolving(
    "the root is compared as a prefix of letters",
    ["files.escape-neighbour"],
    lambda root, path: joined(root, path) if joined(root, path).startswith(root) else None,
)
resolving(
    "absolute paths are opened",
    ["files.escape-absolute"],
    lambda root, path: joined(root, path) if path.startswith("/") else inside(root, joined(root, path)),
)
resolving(
    "absolute paths are taken for relative ones",
    ["files.escape-absolute"],
    lambda root, path: inside(root, joined(root, path.lstrip("/"))),
)
resolving(
    "percent signs are decoded after the check",
    ["files.escape-disguised"],
    lambda root, path: inside(root, joined(root, path)) and joined(root, unquote(path)),
)
resolving(
    "backslashes become slashes after the check",
    ["files.escape-disguised"],
    lambda root, path: inside(root, joined(root, path)) and joined(root, path.replace("\\", "/")),
)
resolving(
    "paths end at NUL",
    ["files.escape-disguised"],
    lambda root, path: inside(root, joined(root, path.split("\0")[0])),
)


@defect("missing files are empty", "files.missing")
def _(server):
    recovering(server, "file_of", lambda refused, skill, path: no_file(refused, path.endswith("missing.md")))


@defect("folders are listed", "files.folder")
def _(server):
    recovering(
        server, "file_of", lambda refused, skill, path: no_file(refused, path.rstrip("/") == "resources")
    )


@defect("an empty path is a file", "files.empty-path")
def _(server):
    recovering(server, "file_of", lambda refused, skill, path: no_file(refused, path == ""))


def no_file(refused, is_answered):
    """Refuses, or answers nothing."""
    if not is_answered:
        raise refused
    return b""
