"""Defects of describe_skill."""

import posixpath

from ..refused import Refused
from .listing import DECOY
from .spoil import before, changed, defect, filling, ignoring, lenient, simple


def described(name, cases, change):
    """A defect in a description: `change(skill, params)` changes it."""

    def apply(result, params):
        change(result["skill"], params)
        return result

    simple(name, cases, "describe_skill", apply)


def manifest_without(*path):
    """Removes a member of the manifest."""

    def change(skill, params):
        place = skill["manifest"]
        for member in path[:-1]:
            place = place.get(member, {})
        place.pop(path[-1], None)

    return change


described("a manifest without tags", ["describe.manifest"], manifest_without("tags"))
described("a manifest without export", ["describe.runtime"], manifest_without("runtime", "export"))
described("inputs without defaults", ["describe.inputs"], manifest_without("inputs", "batch_size", "default"))
described("a manifest without permissions", ["describe.permissions"], manifest_without("permissions"))
described(
    "a runtime for instructions",
    ["describe.instruction"],
    lambda skill, params: skill["manifest"].setdefault("runtime", {"language": "python"}),
)
described(
    "a frontmatter whose tags are a text",
    ["describe.frontmatter"],
    lambda skill, params: skill.get("skill_md_frontmatter", {}).update(tags="[a, b]"),
)
described(
    "a frontmatter with the manifest",
    ["describe.detail-manifest"],
    lambda skill, params: skill.setdefault("skill_md_frontmatter", {"name": "a"}),
)
described(
    "a content with the summary",
    ["describe.detail-summary"],
    lambda skill, params: (
        skill.setdefault("skill_md_content", "a") if params.get("detail") != "manifest" else None
    ),
)


@defect("everything by default", "describe.detail-default")
def _(server):
    before(server, "describe_skill", lambda params: changed({"detail": "full"}, **params))


described(
    "a content without the frontmatter",
    ["describe.detail-full"],
    lambda skill, params: (
        skill.update(skill_md_content=skill["skill_md_content"].split("---\n", 2)[2])
        if "skill_md_content" in skill
        else None
    ),
)
lenient("any detail of a description", ["describe.detail-unknown"], "describe_skill", "detail", "summary")
ignoring(
    "versions are ignored when described",
    ["describe.version", "describe.version-unknown", "ext.error-kind"],
    "describe_skill",
    "version",
)


def finding(name, cases, method, change):
    """A defect in the look-up of skills by one method: `change(params)` gives other parameters."""

    def spoil(server):
        def with_other_find(right, params):
            find = server.find
            server.find = lambda wanted: find(change(dict(wanted), find))
            try:
                return right(params)
            finally:
                server.find = find

        right = getattr(server, method)
        setattr(server, method, lambda params: with_other_find(right, params))

    defect(name, *cases)(spoil)


def first_by_text(params, find):
    """The latest version by the order of letters."""
    if params["name"] == "conformance.versions.many":
        params.setdefault("version", "1.9.0")
    return params


def any_version(params, find):
    """Another version for one that is not there."""
    try:
        find(params)
    except Refused as refused:
        if refused.kind == "version_not_found":
            params.pop("version")
    return params


def any_skill(params, find):
    """Another skill for one that is not there."""
    try:
        find(params)
    except Refused:
        params["name"] = "skills.protocol.guide"
    return params


def by_last_part(params, find):
    """A name may be a path."""
    params["name"] = posixpath.basename(params["name"])
    return params


finding(
    "versions are compared as texts when described",
    ["describe.version-latest"],
    "describe_skill",
    first_by_text,
)
finding(
    "another version is described",
    ["describe.version-unknown", "ext.error-kind"],
    "describe_skill",
    any_version,
)
ERRORS = ["rpc.error-code", "rpc.error-message", "rpc.error-message-short", "rpc.error-code-reserved"]
finding(
    "another skill is described",
    [*ERRORS, "rpc.http-200-for-errors", "describe.unknown", "ext.error-kind"],
    "describe_skill",
    any_skill,
)
filling(
    "a description without a name",
    [*ERRORS, "rpc.params-invalid", "describe.name-required", "ext.error-kind"],
    *("describe_skill", "name", "skills.protocol.guide"),
)
described(
    "a skill without a document",
    ["describe.documents"],
    lambda skill, params: skill.update(skill_md_content="") if params["name"] == DECOY else None,
)
described(
    "a skill without a description",
    ["describe.manifests"],
    lambda skill, params: skill["manifest"].pop("description") if params["name"] == DECOY else None,
)
