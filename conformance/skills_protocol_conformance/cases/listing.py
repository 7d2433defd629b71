"""list_skills."""

import re

from ..case import DISCOVERY, MANIFEST, MUST, SHOULD, STRUCTURE, TOOLS, case, expect, expect_equal, shown

LIST = "list_skills"
# The skills of the suite in the namespace `conformance`.
OURS = (
    "conformance.echo.args",
    "conformance.entry.custom",
    "conformance.guide.reading",
    "conformance.guide.readings",
    "conformance.inputs.typed",
    "conformance.manifest.full",
    "conformance.versions.many",
    "conformance.work.steps",
)
DECOY = "conformances.other.note"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*")
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def names(skills):
    """The names of listed skills."""
    return [skill.get("name") for skill in skills]


def summary_of(session, name):
    """A skill in the list with summaries."""
    found = [
        skill
        for skill in session.list_all(namespace="conformance", detail="summary")
        if skill.get("name") == name
    ]
    expect(found, f"`{name}` is listed")
    return found[-1]


@case("list.skills", MUST, DISCOVERY(LIST, "Array of skill objects."), OURS)
def skills(session):
    """`skills` is an array of objects, among them the skills of the suite."""
    listed = session.list_all()
    expect(all(isinstance(skill, dict) for skill in listed), f"objects, got {shown(listed)}")
    missing = sorted(set(OURS) - set(names(listed)))
    expect(not missing, f"all installed skills are listed, not {', '.join(missing)}")


@case("list.name", MUST, DISCOVERY(LIST, "name — Skill identifier"), OURS[:1])
def name(session):
    """Each listed skill has a `name` by which it can be described."""
    for skill in session.call("list_skills", limit=3)["skills"]:
        described = session.call("describe_skill", name=skill.get("name"))
        expect_equal(described["skill"]["manifest"].get("name"), skill["name"], "the name of the manifest")


@case("list.version", MUST, DISCOVERY(LIST, "version — Skill version"), OURS)
def version(session):
    """Each listed skill has the version of its manifest."""
    listed = {(skill["name"], skill.get("version")) for skill in session.list_all(namespace="conformance")}
    for wanted in (("conformance.echo.args", "1.0.0"), ("conformance.manifest.full", "2.3.1")):
        expect(wanted in listed, f"{wanted} is listed, got {sorted(map(str, listed))}")


@case("list.next-cursor", MUST, DISCOVERY(LIST, "Opaque cursor for next page, or null if no more results"))
def next_cursor(session):
    """The last page has a `next_cursor`, and it is null."""
    page = session.call("list_skills", limit=50, namespace="conformance")
    expect("next_cursor" in page, "`next_cursor` is there")
    expect_equal(page["next_cursor"], None, "`next_cursor` of the last page")


@case("list.names-alone", MUST, DISCOVERY(LIST, '"names" — Just name and version'), OURS[:1])
def names_alone(session):
    """With `detail` \"names\" a skill has `name` and `version` and nothing else."""
    for skill in session.call("list_skills", detail="names")["skills"]:
        expect(set(skill) == {"name", "version"}, f"`name` and `version` alone, got {shown(skill)}")


@case("list.detail-default", MUST, DISCOVERY(LIST, 'Default: "names"'), OURS[:1])
def detail_default(session):
    """Without `detail` the answer is that of \"names\"."""
    without = session.call("list_skills", namespace="conformance")["skills"]
    expect_equal(
        without, session.call("list_skills", namespace="conformance", detail="names")["skills"], "the list"
    )


@case("list.detail-unknown", SHOULD, DISCOVERY(LIST, "Level of detail to return"))
def detail_unknown(session):
    """A `detail` that does not exist is refused."""
    session.error("list_skills", detail="everything")


@case(
    "list.summary-description",
    MUST,
    DISCOVERY(LIST, 'description — Brief description (if detail="summary")'),
    OURS[:1],
)
def summary_description(session):
    """With \"summary\" a skill has the description of its manifest."""
    skill = summary_of(session, "conformance.echo.args")
    expect_equal(skill.get("description"), "Returns the arguments that it was called with.", "`description`")


@case(
    "list.summary-namespace",
    MUST,
    DISCOVERY(LIST, 'namespace — Grouping namespace (if detail="summary")'),
    OURS[:1],
)
def summary_namespace(session):
    """With \"summary\" a skill has the namespace of its manifest."""
    expect_equal(summary_of(session, "conformance.echo.args").get("namespace"), "conformance", "`namespace`")


@case(
    "list.summary-kind", MUST, DISCOVERY(LIST, 'kind — "action" or "instruction" (if detail="summary")'), OURS
)
def summary_kind(session):
    """With \"summary\" a skill has its kind."""
    for skill, kind in (("conformance.echo.args", "action"), ("conformance.guide.reading", "instruction")):
        expect_equal(summary_of(session, skill).get("kind"), kind, f"`kind` of `{skill}`")


@case("list.kinds", MUST, MANIFEST("kind", 'Skill type: either "action" or "instruction"'))
def kinds(session):
    """Every skill of the server is an action or an instruction."""
    for skill in session.list_all(detail="summary"):
        kind = skill.get("kind")
        expect(kind in ("action", "instruction"), f"`{skill.get('name')}` has a kind, got {shown(kind)}")


@case("list.names-spelling", MUST, MANIFEST("name", "Lowercase alphanumeric and dots only"))
def names_spelling(session):
    """Every skill of the server has a name of lowercase letters, digits and dots. A dash inside is
    let pass, since the specification's own examples have one."""
    for listed in names(session.list_all()):
        expect(isinstance(listed, str) and NAME.fullmatch(listed), f"a good name, got {shown(listed)}")


@case("list.versions-spelling", MUST, STRUCTURE("Version format", "Follow semantic versioning"))
def versions_spelling(session):
    """Every skill of the server has a semantic version."""
    for skill in session.list_all():
        listed = skill.get("version")
        good = isinstance(listed, str) and VERSION.fullmatch(listed)
        expect(good, f"`{skill.get('name')}` has a semantic version, got {shown(listed)}")


@case("list.names-unique", MUST, MANIFEST("name", "Unique across all skills in the runtime"))
def names_unique(session):
    """No skill is listed twice with one version."""
    listed = [(skill.get("name"), skill.get("version")) for skill in session.list_all()]
    twice = sorted({str(one) for one in listed if listed.count(one) > 1})
    expect(not twice, f"each skill is listed once, not {', '.join(twice)}")


@case("list.namespace", MUST, DISCOVERY(LIST, "Optional namespace to filter skills"), OURS)
def namespace(session):
    """With `namespace` the list has all skills of it and no others."""
    listed = set(names(session.list_all(namespace="conformance")))
    missing = sorted(set(OURS) - listed)
    expect(not missing, f"skills of the namespace are listed, not {', '.join(missing)}")
    expect("skills.protocol.guide" not in listed, "skills of other namespaces are left out")


@case("list.namespace-whole", MUST, TOOLS(LIST, "optionally filtering by namespace"), OURS + (DECOY,))
def namespace_whole(session):
    """A namespace is no prefix of letters: `conformance` is not `conformances`."""
    expect(DECOY not in names(session.list_all(namespace="conformance")), f"`{DECOY}` is left out")
    expect(
        DECOY in names(session.list_all(namespace="conformances")), f"`{DECOY}` has a namespace of its own"
    )


@case("list.namespace-unknown", SHOULD, DISCOVERY(LIST, "Optional namespace to filter skills"))
def namespace_unknown(session):
    """A namespace without skills gives an empty list."""
    expect_equal(session.call("list_skills", namespace="nosuchnamespace").get("skills"), [], "`skills`")


@case("list.limit", MUST, DISCOVERY(LIST, "Maximum number of results to return."), OURS)
def limit(session):
    """A page has no more skills than `limit`, and a cursor if there are more."""
    page = session.call("list_skills", limit=2)
    expect(len(page["skills"]) == 2, f"2 skills, got {len(page['skills'])}")
    expect(
        isinstance(page.get("next_cursor"), str),
        f"`next_cursor` is a text, got {shown(page.get('next_cursor'))}",
    )


@case("list.limit-default", MUST, DISCOVERY(LIST, "Default: 50"), OURS)
def limit_default(session):
    """Without `limit` the page is that of 50."""
    without, fifty = session.call("list_skills"), session.call("list_skills", limit=50)
    expect_equal(names(without["skills"]), names(fifty["skills"]), "the page")
    is_last = fifty.get("next_cursor") is None
    expect_equal(without.get("next_cursor") is None, is_last, "that it is the last page")


@case("list.limit-wrong", SHOULD, DISCOVERY(LIST, "Maximum number of results to return."))
def limit_wrong(session):
    """A `limit` that is no positive integer is refused."""
    for wrong in (-1, "two", 1.5):
        session.error("list_skills", limit=wrong)


@case("list.pages", MUST, DISCOVERY(LIST, "Pagination cursor from a previous response"), OURS)
def pages(session):
    """The pages of a list together are the list: each skill once, and in the same order."""
    whole = session.list_all(namespace="conformance")
    expect_equal(session.list_all(namespace="conformance", limit=3), whole, "the list by pages of 3")


@case("list.cursor-detail", MUST, DISCOVERY(LIST, "support pagination"), OURS)
def cursor_detail(session):
    """Pages with \"summary\" have summaries on each page."""
    for skill in session.list_all(namespace="conformance", limit=3, detail="summary"):
        expect(isinstance(skill.get("description"), str), f"a description, got {shown(skill)}")


@case("list.cursor-unknown", SHOULD, DISCOVERY(LIST, "Pagination cursor from a previous response"))
def cursor_unknown(session):
    """A cursor that no response had is refused."""
    session.error("list_skills", cursor="conformance-made-this-up")


@case("list.deterministic", MUST, DISCOVERY(LIST, "Results are deterministically sorted"), OURS)
def deterministic(session):
    """Equal calls give equal lists."""
    first = session.list_all(detail="summary")
    for _ in range(3):
        expect_equal(session.list_all(detail="summary"), first, "the list")


@case("list.as-described", MUST, STRUCTURE("File purposes", "Machine-readable manifest with metadata"), OURS)
def as_described(session):
    """Summary and manifest of a skill agree in version, description and kind."""
    for skill in session.list_all(namespace="conformance", detail="summary", limit=4)[:4]:
        described = session.call("describe_skill", name=skill["name"], version=skill["version"])
        manifest = described["skill"]["manifest"]
        for member in ("version", "description", "kind", "namespace"):
            expect_equal(skill.get(member), manifest.get(member), f"`{member}` of `{skill['name']}`")
