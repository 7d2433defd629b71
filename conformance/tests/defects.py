"""Defects of a server, one at a time, each with the cases that must fail because of it.

Every case of the suite is there: a case that no defect fails would prove nothing.
"""

import posixpath
from urllib.parse import unquote

from .skill_store import Skill
from .stand_in import METHODS, Refused, wrong

DEFECTS = []


def defect(name, *cases):
    """Makes a function a defect: it changes a stand-in so that exactly these cases fail."""

    def add(spoil):
        DEFECTS.append((name, spoil, frozenset(cases)))
        return spoil

    return add


def after(server, method, change):
    """Has `change(result, *arguments)` look at each result of a method; what it returns is the result."""
    right = getattr(server, method)

    def spoiled(*arguments):
        return change(right(*arguments), *arguments)

    setattr(server, method, spoiled)


def before(server, method, change):
    """Has `change(params)` look at the parameters of a method first."""
    right = getattr(server, method)

    def spoiled(params):
        changed = change(dict(params))
        return right(params if changed is None else changed)

    setattr(server, method, spoiled)


def recovering(server, method, recover):
    """Has `recover(refused, *arguments)` answer where a method refuses."""
    right = getattr(server, method)

    def spoiled(*arguments):
        try:
            return right(*arguments)
        except Refused as refused:
            return recover(refused, *arguments)

    setattr(server, method, spoiled)


def simple(name, cases, method, change):
    """A defect that changes the result of one method."""
    defect(name, *cases)(lambda server: after(server, method, change))


def ignoring(name, cases, method, *parameters):
    """A defect that ignores parameters."""

    def change(params):
        for parameter in parameters:
            params.pop(parameter, None)
        return params

    defect(name, *cases)(lambda server: before(server, method, change))


def filling(name, cases, method, parameter, value):
    """A defect that takes a value for a required parameter that is missing."""

    def spoil(server):
        def check(right, asked, params):
            if asked == method and isinstance(params, dict):
                params.setdefault(parameter, value)
            return right(asked, params)

        right = server.check_params
        server.check_params = lambda asked, params: check(right, asked, params)

    defect(name, *cases)(spoil)


def lenient(name, cases, method, parameter, value):
    """A defect that takes any value of a parameter for `value`, unless it is one of the right ones."""

    def spoil(server):
        def call(right, asked, params):
            if asked == method and isinstance(params, dict) and parameter in params:
                try:
                    return right(asked, params)
                except Refused as refused:
                    if refused.parameter != parameter:
                        raise
                    params = {**params, parameter: value}
            return right(asked, params)

        right = server.call
        server.call = lambda asked, params: call(right, asked, params)

    defect(name, *cases)(spoil)


def changed(result, /, **members):
    """A result with other members."""
    return {**result, **members}


def without(result, /, *members):
    """A result without members."""
    return {key: value for key, value in result.items() if key not in members}


def refusing_with(server, kind, **members):
    """Changes the errors of one kind."""

    def change(response, id, refused):
        if refused.kind == kind:
            response["error"].update(members)
        return response

    after(server, "refusal", change)


# JSON-RPC

simple("results with HTTP 201", ["rpc.endpoint"], "status_of", lambda status, answer: 201 if "result" in answer else 200)
simple("answers as text/plain", ["rpc.content-type"], "content_type", lambda kind: "text/plain")
simple(
    "errors with HTTP 400",
    ["rpc.http-200-for-errors"],
    "status_of",
    lambda status, answer: 400 if "error" in answer else 200,
)

@defect("a method that is missing", "rpc.methods", "rpc.params-invalid")
def _(server):
    def call(right, method, params):
        if method == "create_blob" and not params:
            raise Refused(-32601, "method_not_found", "no such method")
        return right(method, params)

    right = server.call
    server.call = lambda method, params: call(right, method, params)


simple("results of version 1.0", ["rpc.version"], "response", lambda response, *_: changed(response, jsonrpc="1.0"))
simple("errors without version", ["rpc.version"], "refusal", lambda response, *_: without(response, "jsonrpc"))
simple(
    "ids of digits become numbers",
    ["rpc.id-string"],
    "response",
    lambda response, *_: changed(response, id=int(response["id"])) if str(response["id"]) == "7" else response,
)
simple(
    "ids of numbers become texts",
    ["rpc.id-number", "rpc.batch-notification", "ext.events"],
    "response",
    lambda response, *_: changed(response, id=str(response["id"])) if isinstance(response["id"], int) else response,
)


@defect("a null id is taken for a notification", "rpc.id-null")
def _(server):
    server.is_notification = lambda request: request.get("id") is None


simple("errors without their id", ["rpc.id-of-error", "rpc.batch"], "refusal", lambda response, *_: changed(response, id=None))
simple(
    "results with a null error",
    ["rpc.result-alone", "rpc.batch-invalid", "execute.failed-is-result"],
    "response",
    lambda response, *_: changed(response, error=None),
)
simple("errors with a null result", ["rpc.error-alone"], "refusal", lambda response, *_: changed(response, result=None))


@defect("codes that are no integers", "rpc.error-code")
def _(server):
    refusing_with(server, "method_not_found", code=-32601.0)


@defect("codes as texts", "rpc.error-code", "rpc.error-code-reserved", "rpc.method-unknown", "rpc.batch")
def _(server):
    refusing_with(server, "method_not_found", code="-32601")


@defect("empty messages", "rpc.error-message")
def _(server):
    refusing_with(server, "skill_not_found", message="")


@defect("messages that are traces", "rpc.error-message-short")
def _(server):
    refusing_with(server, "blob_not_found", message="Traceback (most recent call last):\n  File \"server.py\"")


@defect("codes that are reserved", "rpc.error-code-reserved")
def _(server):
    refusing_with(server, "skill_not_found", code=-32500)


@defect("another code for unknown methods", "rpc.method-unknown", "rpc.batch")
def _(server):
    refusing_with(server, "method_not_found", code=-32600)


@defect("another code for what is not JSON", "rpc.parse-error", "rpc.batch-broken")
def _(server):
    refusing_with(server, "parse_error", code=-32603)


@defect("an invented id for what is not JSON", "rpc.parse-error-id")
def _(server):
    after(server, "refusal", lambda response, id, refused: changed(response, id=0) if refused.kind == "parse_error" else response)


@defect("no id for what is not JSON", "rpc.parse-error-id")
def _(server):
    after(server, "refusal", lambda response, id, refused: without(response, "id") if refused.kind == "parse_error" else response)


def checking(name, cases, change):
    """A defect in the check of requests: `change(request)` may refuse or return another request."""

    def spoil(server):
        right = server.check

        def check(request):
            right(change(request))

        server.check = check

    defect(name, *cases)(spoil)


def no_object_is_no_json(request):
    if not isinstance(request, dict):
        raise Refused(-32700, "parse_error", "this is no object")
    return request


def no_method_is_unknown(request):
    if isinstance(request, dict) and request.get("jsonrpc") and not isinstance(request.get("method"), str):
        raise Refused(-32601, "method_not_found", "there is no such method")
    return request


def params_are_needed(request):
    if isinstance(request, dict) and request.get("id") is not None and request.get("method") in METHODS:
        if "params" not in request:
            raise Refused(-32602, "invalid_params", "`params` are missing")
    return request


checking("JSON that is no object is taken for no JSON", ["rpc.request-number", "rpc.batch-invalid"], no_object_is_no_json)
checking("no method is an unknown one", ["rpc.request-without-method"], no_method_is_unknown)
checking(
    "any version of JSON-RPC",
    ["rpc.request-version"],
    lambda request: changed(request, jsonrpc="2.0") if isinstance(request, dict) and "id" in request else request,
)
checking(
    "any id",
    ["rpc.request-id"],
    lambda request: without(request, "id") if isinstance(request, dict) else request,
)
checking("`params` are needed", ["rpc.params-left-out", "guide.no-params"], params_are_needed)


@defect("wrong `params` are taken for none", "rpc.params-text")
def _(server):
    right = server.call
    server.call = lambda method, params: right(method, {} if isinstance(params, (str, int)) else params)


@defect("`params` by position", "rpc.params-array")
def _(server):
    right = server.call
    server.call = lambda method, params: right(method, {"name": params[0]} if isinstance(params, list) else params)


@defect("another code for wrong parameters", "rpc.params-invalid", "rpc.params-text", "ext.unknown-parameter")
def _(server):
    refusing_with(server, "invalid_params", code=-32000)


def answering_notifications(name, cases, is_answered):
    """A defect that answers notifications."""

    def spoil(server):
        server.is_notification = lambda request: "id" not in request and not is_answered(request)
        right = server.one

        def one(request):
            if isinstance(request, dict) and "id" not in request and "method" in request and is_answered(request):
                return {**right({**request, "id": 0}), "id": None}
            return right(request)

        server.one = one

    defect(name, *cases)(spoil)


answering_notifications(
    "notifications are answered",
    ["rpc.notification", "rpc.notification-wrong", "rpc.batch-notification", "rpc.batch-of-notifications"],
    lambda request: True,
)
answering_notifications(
    "wrong notifications are answered",
    ["rpc.notification-wrong"],
    lambda request: request["method"] not in METHODS,
)


@defect(
    "no batches",
    *("rpc.batch", "rpc.batch-invalid", "rpc.batch-notification", "rpc.batch-of-notifications"),
)
def _(server):
    server.batch = lambda values: server.refusal(None, Refused(-32600, "invalid_request", "no batches"))


simple(
    "a batch without its invalid requests",
    ["rpc.batch-invalid"],
    "batch_of",
    lambda responses, _: [one for one in responses or [] if one["id"] is not None] or None,
)
simple("a batch of notifications gives an empty array", ["rpc.batch-of-notifications"], "batch_of", lambda responses, _: responses or [])


@defect("a batch is answered by its first response", "rpc.batch", "rpc.batch-invalid", "rpc.batch-notification")
def _(server):
    after(server, "batch_of", lambda responses, _: responses[0] if responses else None)


@defect("an empty batch gives an empty array", "rpc.batch-empty")
def _(server):
    right = server.batch
    server.batch = lambda values: right(values) if values else []


@defect("a broken batch gives an array", "rpc.batch-broken")
def _(server):
    after(server, "answer", lambda answer, body: [answer] if body.startswith(b"[{") and isinstance(answer, dict) else answer)


# list_skills

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
listing("a skill is listed twice", ["list.names-unique"], lambda skills: skills + [s for s in skills if s.name == DECOY])


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
relisted("versions that are made up", ["list.version", "list.as-described"], lambda shown, *_: changed(shown, version="0.0.1"))
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
    "no namespaces", ["list.summary-namespace", "list.as-described"], lambda shown, *_: without(shown, "namespace")
)
relisted(
    "all skills are actions",
    ["list.summary-kind", "list.as-described", "guide.listed"],
    lambda shown, *_: changed(shown, kind="action") if "kind" in shown else shown,
)
relisted("a kind that does not exist", ["list.kinds"], lambda shown, skill, detail: changed(shown, kind="note") if skill.name == DECOY and detail == "summary" else shown)
relisted(
    "a description that is not the manifest's",
    ["list.as-described"],
    lambda shown, skill, detail: changed(shown, description="Another.") if skill.name == "conformance.guide.reading" and detail == "summary" else shown,
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


# describe_skill


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
    lambda skill, params: skill.setdefault("skill_md_content", "a") if params.get("detail") != "manifest" else None,
)


@defect("everything by default", "describe.detail-default")
def _(server):
    before(server, "describe_skill", lambda params: changed({"detail": "full"}, **params))


described(
    "a content without the frontmatter",
    ["describe.detail-full"],
    lambda skill, params: skill.update(skill_md_content=skill["skill_md_content"].split("---\n", 2)[2]) if "skill_md_content" in skill else None,
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


finding("versions are compared as texts when described", ["describe.version-latest"], "describe_skill", first_by_text)
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

# read_skill_file


def reading(name, cases, change):
    """A defect in the content of files: `change(data, path)` gives other bytes."""
    simple(name, cases, "file_of", lambda data, skill, path: change(data, path))


def hiding(name, cases, is_hidden):
    """A defect that does not find some files."""

    def change(data, path):
        if is_hidden(path):
            raise Refused(-32602, "file_not_found", "there is no such file")
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
ignoring("versions are ignored when read", ["files.version", "files.version-unknown"], "read_skill_file", "version")
finding("versions are compared as texts when read", ["files.version"], "read_skill_file", first_by_text)
finding("another version is read", ["files.version-unknown"], "read_skill_file", any_version)
finding("a name can be a path", ["files.unknown-skill"], "read_skill_file", by_last_part)
filling("a file of no skill", ["files.name-required"], "read_skill_file", "name", "skills.protocol.guide")
filling("a file without a path", ["files.path-required"], "read_skill_file", "path", "SKILL.md")


def resolving(name, cases, resolve):
    """A defect in the way from a path to a file: `resolve(root, path)` gives a path or None."""

    def spoil(server):
        latest = server.sorted_skills()
        roots = {id(skill): f"/root/{skill.name}" if skill in latest else "/root/older" for skill in server.skills}
        tree = {f"{roots[id(skill)]}/{path}": data for skill in server.skills for path, data in skill.files.items()}
        tree["/etc/passwd"] = b"root:x:0:0::/root:/bin/sh\n"

        def file_of(skill, path):
            found = resolve(roots[id(skill)], path)
            if found not in tree:
                raise Refused(-32602, "file_not_found", "there is no such file")
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
    recovering(server, "file_of", lambda refused, skill, path: no_file(refused, path.rstrip("/") == "resources"))


@defect("an empty path is a file", "files.empty-path")
def _(server):
    recovering(server, "file_of", lambda refused, skill, path: no_file(refused, path == ""))


def no_file(refused, is_answered):
    """Refuses, or answers nothing."""
    if not is_answered:
        raise refused
    return b""


# Blobs

@defect("content is lost if it is short", "blobs.id")
def _(server):
    after(server, "read_blob", lambda found, params: changed(found, content="") if found["size_bytes"] in (6, 7) else found)


def with_other_ids(server, change):
    """Stores blobs under other ids."""
    right = server.store_blob

    def store(data, kind):
        blob = right(data, kind)
        other = change(blob, data, kind)
        server.blobs[other] = (data, kind)
        return other

    server.store_blob = store


@defect("ids without `blob:`", "blobs.id-form")
def _(server):
    with_other_ids(server, lambda blob, data, kind: blob[len("blob:") :])


@defect(
    "one id for blobs of one length and kind",
    *("blobs.ids-differ",),
)
def _(server):
    with_other_ids(server, lambda blob, data, kind: "blob:one" if data in (b"one blob", b"another blob") else blob)


simple(
    "sizes in letters",
    ["blobs.size"],
    "create_blob",
    lambda created, params: changed(created, size_bytes=len(params["content"])) if "encoding" not in params else created,
)
filling("a blob without content", ["blobs.content-required"], "create_blob", "content", "")
lenient("content that is no text", ["blobs.content-required"], "create_blob", "content", "{}")
filling("a blob without a kind", ["blobs.kind-required"], "create_blob", "kind", "text/plain")
simple("every blob is text/plain", ["blobs.kind"], "read_blob", lambda found, _: changed(found, kind="text/plain"))
simple(
    "ends of lines of blobs are changed",
    ["blobs.unchanged"],
    "read_blob",
    lambda found, _: changed(found, content=found["content"].replace("\r\n", "\n")),
)
simple(
    "blobs are stripped",
    ["blobs.unchanged"],
    "read_blob",
    lambda found, params: changed(found, content=found["content"].strip()) if found["content"].startswith(" ") else found,
)


@defect("large blobs are cut", "blobs.large")
def _(server):
    before(server, "create_blob", lambda params: changed(params, content=params["content"][:200000]))


@defect("empty blobs are refused", "blobs.empty")
def _(server):
    def check(params):
        if not params["content"]:
            raise wrong("content")

    before(server, "create_blob", check)


@defect("blobs are read from the end by default", "blobs.mode-default", "blobs.max-bytes-default")
def _(server):
    before(server, "read_blob", lambda params: changed({"mode": "sample_tail"}, **params) if "max_bytes" in params or len(server.find_blob(params["blob_id"])[0]) == 5500 else params)


@defect("1,000 bytes by default", "blobs.max-bytes-default")
def _(server):
    before(server, "read_blob", lambda params: params if params.get("mode") else changed({"max_bytes": 1000}, **params))


@defect("limits in letters", "blobs.max-bytes")
def _(server):
    def read(found, params):
        data, _ = server.find_blob(params["blob_id"])
        if params.get("mode") is None and data.startswith("é".encode()):
            return changed(found, content=data.decode()[: params.get("max_bytes", 2000)])
        return found

    after(server, "read_blob", read)


@defect("letters are cut", "blobs.max-bytes")
def _(server):
    after(server, "read_blob", lambda found, params: changed(found, content=found["content"] + "\ufffd") if found["content"].endswith("é") else found)


@defect("the head is the tail", "blobs.head")
def _(server):
    before(server, "read_blob", lambda params: changed(params, mode="sample_tail") if params.get("mode") == "sample_head" else params)


@defect("the tail is the head", "blobs.tail", "blobs.large")
def _(server):
    before(server, "read_blob", lambda params: changed(params, mode="sample_head") if params.get("mode") == "sample_tail" else params)


@defect("full reads are bounded", "blobs.full", "ext.large-output")
def _(server):
    before(server, "read_blob", lambda params: changed({"max_bytes": 2000}, **params))


simple("nothing is ever truncated", ["blobs.truncated"], "read_blob", lambda found, _: changed(found, truncated=False))
simple("everything is truncated", ["blobs.truncated", "blobs.full"], "read_blob", lambda found, _: changed(found, truncated=True))
lenient("any mode", ["blobs.mode-unknown"], "read_blob", "mode", "full")
lenient("any max_bytes", ["blobs.max-bytes-wrong"], "read_blob", "max_bytes", 2000)


@defect("missing blobs are empty", *ERRORS, "blobs.unknown", "ext.error-kind")
def _(server):
    recovering(server, "read_blob", lambda refused, params: none_there(refused))


def none_there(refused):
    """An empty blob for a missing one."""
    if refused.kind != "blob_not_found":
        raise refused
    return {"content": "", "truncated": False, "kind": "text/plain"}


@defect("blobs are files of the system", "blobs.unknown")
def _(server):
    server.blobs["blob:../../etc/passwd"] = (b"root", "text/plain")


@defect("a blob is read without an id", "blobs.id-required", "rpc.params-invalid")
def _(server):
    server.blobs["blob:last"] = (b"last", "text/plain")
    right = server.check_params

    def check(method, params):
        if method == "read_blob" and isinstance(params, dict):
            params.setdefault("blob_id", "blob:last")
        return right(method, params)

    server.check_params = check


# The guide

LOAD = "load_skills_protocol_guide"
simple("no guide", ["guide.content", "guide.of-skill", "guide.begins-with-heading", "guide.names-tools"], LOAD, lambda guide, _: {"content": None})
simple(
    "a guide that is not the skill's",
    ["guide.of-skill"],
    LOAD,
    lambda guide, _: {"content": guide["content"] + "\nCall with care.\n"},
)
simple("a guide with its frontmatter", ["guide.begins-with-heading"], LOAD, lambda guide, _: {"content": "---\nname: Skills Protocol Guide\nshort_description: How to use the eight methods.\ntags: [guide]\n---\n\n" + guide["content"]})
simple("a short guide", ["guide.names-tools", "guide.of-skill"], LOAD, lambda guide, _: {"content": "# Guide\n\nNone.\n"})


@defect("a guide of few words", "guide.names-tools")
def _(server):
    document = "---\nname: Guide\n---\n\n# Guide\n\nCall `list_skills`.\n"
    manifest = next(skill for skill in server.skills if skill.name == "skills.protocol.guide").files["skill.toml"]
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
