"""Defects of the guide."""

from ..skill_store import GUIDE, Skill
from ..refused import wrong
from .listing import listing
from .spoil import defect, simple

LOAD = "load_skills_protocol_guide"
simple(
    "no guide",
    ["guide.content", "guide.of-skill", "guide.begins-with-heading", "guide.names-tools"],
    LOAD,
    lambda guide, _: {"content": None},
)
simple(
    "a guide that is not the skill's",
    ["guide.of-skill"],
    LOAD,
    lambda guide, _: {"content": guide["content"] + "\nCall with care.\n"},
)
simple(
    "a guide with its frontmatter",
    ["guide.begins-with-heading"],
    LOAD,
    lambda guide, _: {"content": GUIDE},
)
simple(
    "a short guide",
    ["guide.names-tools", "guide.of-skill"],
    LOAD,
    lambda guide, _: {"content": "# Guide\n\nNone.\n"},
)


@defect("a guide of few words", "guide.names-tools")
def _(server):
    document = "---\nname: Guide\n---\n\n# Guide\n\nCall `list_skills`.\n"
    manifest = next(skill for skill in server.skills if skill.name == "skills.protocol.guide").files[
        "skill.toml"
    ]
    server.skills = [skill for skill in server.skills if skill.name != "skills.protocol.guide"]
    server.skills.append(Skill({"skill.toml": manifest, "SKILL.md": document.encode()}))


@defect("parameters for the guide", "guide.no-params")
def _(server):
    checked = server.one

    def one(request):
        is_bare = isinstance(request, dict) and request.get("method") == LOAD and "params" not in request
        return server.refusal(request["id"], wrong("params")) if is_bare else checked(request)

    server.one = one


listing(
    "the guide is not listed",
    ["guide.listed", "guide.in-namespace"],
    lambda skills: [skill for skill in skills if skill.name != "skills.protocol.guide"],
)
