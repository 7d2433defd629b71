"""load_skills_protocol_guide, and the skill behind it."""

from ..case import DISCOVERY, MUST, SHOULD, STRUCTURE, TOOLS, case, expect, expect_equal, shown
from .rpc import METHODS

LOAD = "load_skills_protocol_guide"
SKILL = "skills.protocol.guide"


def guide(session):
    """The guide."""
    content = session.call(LOAD).get("content")
    expect(isinstance(content, str) and content.strip(), f"`content` is a text, got {shown(content)}")
    return content


@case(
    "guide.content",
    MUST,
    TOOLS(LOAD, "Load the canonical Skills Protocol Guide to learn how to use these tools."),
)
def content(session):
    """`content` is a text."""
    guide(session)


@case("guide.no-params", MUST, TOOLS(LOAD, "This method takes no parameters."))
def no_params(session):
    """The call works without `params`, and with an empty object."""
    without = session.respond(LOAD).get("result")
    expect(isinstance(without, dict), f"a result without `params`, got {shown(without)}")
    expect_equal(without, session.call(LOAD), "the result")


@case(
    "guide.of-skill",
    MUST,
    TOOLS(LOAD, "This method returns the SKILL.md content of the canonical skills.protocol.guide skill"),
)
def of_skill(session):
    """The guide is the SKILL.md of the skill `skills.protocol.guide`, with or without its frontmatter."""
    document = session.call("read_skill_file", name=SKILL, path="SKILL.md").get("content")
    expect(isinstance(document, str), f"the SKILL.md is a text, got {shown(document)}")
    expect(
        document.strip().endswith(guide(session).strip()),
        "the guide is the end of the SKILL.md, or all of it",
    )


@case("guide.listed", MUST, STRUCTURE("Example structure", "Instruction skill skills.protocol.guide/"))
def listed(session):
    """The skill `skills.protocol.guide` is listed, as an instruction skill."""
    found = [skill for skill in session.list_all(detail="summary") if skill.get("name") == SKILL]
    expect(len(found) == 1, f"`{SKILL}` is listed, got {shown(found)}")
    expect_equal(found[0].get("kind"), "instruction", "`kind`")


@case("guide.in-namespace", SHOULD, DISCOVERY("list_skills", "Optional namespace to filter skills"))
def in_namespace(session):
    """The skill is found by the first part of its name as a namespace."""
    found = [skill.get("name") for skill in session.list_all(namespace="skills")]
    expect(SKILL in found, f"`{SKILL}` is listed, got {shown(found)}")


@case("guide.begins-with-heading", SHOULD, TOOLS(LOAD, '"content": "# Skills Protocol Overview'))
def begins_with_heading(session):
    """The guide begins with a heading and not with the frontmatter."""
    expect(guide(session).lstrip().startswith("# "), f"a heading, got {shown(guide(session)[:60])}")


@case("guide.names-tools", SHOULD, TOOLS(LOAD, "which provides instructions on the protocol workflow."))
def names_tools(session):
    """The guide names the other seven methods."""
    text = guide(session)
    missing = [method for method in METHODS if method != LOAD and method not in text]
    expect(not missing, f"all methods are named, not {', '.join(missing)}")
