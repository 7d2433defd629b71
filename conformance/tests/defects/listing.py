"""Defects of list_skills."""

from ..skill_store import Skill
from ..refused import wrong
from .spoil import after, before, changed, defect, ignoring, lenient, simple, without

DECOY = "conformances.other.note"


def relisted(name, cases, change):
    """A defect in the list: `change(shown, skill, detail)` gives another entry."""
    simple(name, cases, "listed", change)


def for_skill(name, **members):
    """Changes the entry of one skill."""
    return lambda shown, skill, detail: {**shown, **members} if skill.name == name else shown


def listing(name, cases, change):
    """A defect in the skills that can be listed."""
    simple(name, cases, "sorted_skills", change)


def extra(name, version="1.0.0"):
    """A skill that the suite does not have."""
    manifest = f'name = "{name}"\nversion = "{version}"\ndescription = "Extra."\nkind = "instruction"\n'
    return Skill({"skill.toml": manifest.encode(), "SKILL.md": b"---\nname: Extra\n---\nExtra.\n"})


listing(
    "a skill is left out of the list",
    ["list.skills", "list.namespace"],
    lambda skills: [skill for skill in skills if skill.name != "conformance.entry.custom"],
)
listing(
    "a skill is listed twice",
    ["list.names-unique"],
    lambda skills: skills + [s for s in skills if s.name == DECOY],
)


@defect("a skill with capital letters", "list.names-spelling")
def _(server):
    server.skills.append(extra("Other.Skill_One"))


@defect("a skill with a version of two numbers", "list.versions-spelling")
def _(server):
    server.skills.append(extra("other.skill.one", "1.0"))


listing(
    "a listed skill cannot be described",
    ["list.name", "describe.documents", "describe.manifests"],
    lambda skills: [extra("a.missing.skill"), *skills],
)
relisted(
    "versions that are made up",
    ["list.version", "list.as-described"],
    lambda shown, *_: changed(shown, version="0.0.1"),
)
simple(
    "no next_cursor at the end",
    ["list.next-cursor"],
    "list_skills",
    lambda page, _: page if page["next_cursor"] else without(page, "next_cursor"),
)
relisted(
    "descriptions with names",
    ["list.names-alone"],
    lambda shown, skill, detail: {**shown, "description": skill.manifest["description"]},
)


@defect("summaries by default", "list.detail-default")
def _(server):
    before(server, "list_skills", lambda params: params.setdefault("detail", "summary") and params)


lenient("any detail of a list", ["list.detail-unknown"], "list_skills", "detail", "names")
relisted(
    "no descriptions",
    ["list.summary-description", "list.cursor-detail", "list.as-described"],
    lambda shown, *_: without(shown, "description"),
)
relisted(
    "no namespaces",
    ["list.summary-namespace", "list.as-described"],
    lambda shown, *_: without(shown, "namespace"),
)
relisted(
    "all skills are actions",
    ["list.summary-kind", "list.as-described", "guide.listed"],
    lambda shown, *_: changed(shown, kind="action") if "kind" in shown else shown,
)
relisted(
    "a kind that does not exist",
    ["list.kinds"],
    lambda shown, skill, detail: (
        changed(shown, kind="note") if skill.name == DECOY and detail == "summary" else shown
    ),
)
relisted(
    "a description that is not the manifest's",
    ["list.as-described"],
    lambda shown, skill, detail: (
        changed(shown, description="Another.")
        if skill.name == "conformance.guide.reading" and detail == "summary"
        else shown
    ),
)
ignoring(
    "namespaces are ignored",
    ["list.namespace", "list.namespace-whole", "list.namespace-unknown"],
    "list_skills",
    "namespace",
)


@defect("namespaces are prefixes of letters", "list.namespace-whole")
def _(server):
    server.in_namespace = lambda skill, namespace: skill.name.startswith(namespace)


@defect("namespaces are compared with the manifest alone", "guide.in-namespace")
def _(server):
    server.in_namespace = lambda skill, namespace: skill.manifest.get("namespace") == namespace


@defect("an unknown namespace is refused", "list.namespace-unknown")
def _(server):
    def check(page, params):
        if not page["skills"]:
            raise wrong("namespace")
        return page

    after(server, "list_skills", check)


@defect("limits are ignored", "list.limit")
def _(server):
    def check(params):
        if params.get("limit", 1) > 0 and "cursor" not in params:
            return changed(params, limit=50)
        return params

    before(server, "list_skills", check)


@defect("five skills by default", "list.limit-default")
def _(server):
    server.default_limit = lambda: 5


lenient("any limit", ["list.limit-wrong", "ext.error-parameter"], "list_skills", "limit", 50)


@defect("negative limits", "list.limit-wrong")
def _(server):
    before(server, "list_skills", lambda params: changed(params, limit=abs(params.get("limit", 50))))


@defect("pages lose a skill", "list.pages")
def _(server):
    after(server, "position_of", lambda position, cursor: position + 1)


@defect("pages overlap", "list.pages")
def _(server):
    after(server, "position_of", lambda position, cursor: position - 1)


@defect("further pages without summaries", "list.cursor-detail")
def _(server):
    before(server, "list_skills", lambda params: without(params, "detail") if "cursor" in params else params)


lenient("any cursor is the first page", ["list.cursor-unknown"], "list_skills", "cursor", "at-0")


@defect("the order changes from call to call", "list.deterministic")
def _(server):
    calls = []

    def shuffle(page, params):
        if params.get("detail") == "summary" and "namespace" not in params:
            calls.append(1)
            turn = len(calls) % 3
            page["skills"] = page["skills"][turn:] + page["skills"][:turn]
        return page

    after(server, "list_skills", shuffle)
