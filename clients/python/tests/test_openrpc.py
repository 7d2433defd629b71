"""The client has the methods, parameters, types and errors of the OpenRPC document."""

from __future__ import annotations

import collections.abc
import copy
import inspect
import json
import types
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

import httpx
import pytest
from conftest import REPOSITORY
from jsonschema import Draft7Validator, Draft202012Validator

import wardian
from wardian import errors, results

DOCUMENT: dict[str, Any] = json.loads((REPOSITORY / "clients" / "openrpc.json").read_text())
METHODS: list[dict[str, Any]] = DOCUMENT["methods"]
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
META = REPOSITORY / "tests" / "fixtures" / "openrpc" / "meta-schema.json"

# `detach` changes the type of the result: `start_code` and `start_skill` send it.
# What programs ask of their callers is answered by functions, which are no parameters of the server.
LEFT_OUT = {
    "execute_skill": {"detach", "tools"},
    "run_code": {"detach", "tools", "answers", "abandon"},
}
FUNCTIONS = {"tools", "on_input", "approve"}

# Results whose class has another name than their schema.
CLASSES: dict[str, type] = {
    "ListedSkill": results.ListedSkill,
    "DescribedSkill": results.DescribedSkill,
    "DescribedScript": results.DescribedScript,
    "ReadSkillFileResult": results.SkillFile,
    "RunFile": results.RunFile,
    "ConvertedValue": results.ConvertedValue,
    "RunError": results.RunError,
    "SessionState": results.SessionState,
    "DisplayPart": results.DisplayPart,
    "CallerRequest": results.CallerRequest,
    "RunResult": results.RunResult,
    "DetachedRun": results.DetachedRun,
    "CreateBlobResult": results.Blob,
    "ReadBlobResult": results.BlobSample,
    "OutputEvent": results.Output,
    "ProgressEvent": results.Progress,
    "LeftOutEvent": results.LeftOut,
}
# Schemas that are read otherwise: as pages, as a text, as the members of another class.
OTHERS = {
    "BlobId",
    "BlobName",
    "RunId",
    "Encoding",
    "ListSkillsResult",
    "DescribeSkillResult",
    "TruncatedOutput",
    "GuideResult",
    "ErrorData",
    "RequestEvent",
}


def parameters_of(function: Any) -> dict[str, Any]:
    """The parameters of a method with their types, those of its options included."""
    hints = get_type_hints(function)
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found.update(get_type_hints(get_args(hints[name])[0]))
        elif name != "self":
            found[name] = hints[name]
    return found


def kinds_of(schema: dict[str, Any]) -> set[str]:
    """The types of JSON that a schema allows."""
    if "$ref" in schema:
        return kinds_of(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return set[str]().union(*(kinds_of(one) for one in schema["anyOf"]))
    found = schema["type"]
    return set(cast("list[str]", found)) if isinstance(found, list) else {found}


def kinds_of_type(kind: Any) -> set[str]:
    """The types of JSON that a type stands for."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return set[str]().union(*(kinds_of_type(one) for one in get_args(kind)))
    if origin is Literal:
        return {"string"}
    if is_typeddict(kind):
        return {"object"}
    plain: dict[Any, str] = {
        str: "string",
        bytes: "string",
        int: "integer",
        float: "number",
        bool: "boolean",
        list: "array",
        collections.abc.Sequence: "array",
        results.RunFiles: "array",
        dict: "object",
        type(None): "null",
        results.Blob: "string",
        results.RunError: "object",
    }
    found = origin or kind
    return {plain[found]} if found in plain else {"object"}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method["name"])
@pytest.mark.parametrize("client", [wardian.Client, wardian.AsyncClient])
def test_a_method_has_its_parameters(client: type, method: dict[str, Any]) -> None:
    name = method["name"]
    found = parameters_of(getattr(client, name))
    expected = {one["name"]: one for one in method["params"]}
    for left_out in LEFT_OUT.get(name, set[str]()):
        del expected[left_out]
    if "tools" in LEFT_OUT.get(name, set[str]()):
        assert set(found) >= FUNCTIONS
    assert set(found) - {"return"} - FUNCTIONS == set(expected)
    for parameter, described in expected.items():
        kinds = kinds_of_type(found[parameter]) - {"null"}
        assert kinds == kinds_of(described["schema"]), parameter
        values = described["schema"].get("enum")
        if values is not None:
            assert literals(found[parameter]) == set(values), parameter


def literals(kind: Any) -> set[str]:
    """The values of a literal type, or of one in a union."""
    if get_origin(kind) is Literal:
        return set(get_args(kind))
    return set[str]().union(*(literals(one) for one in get_args(kind)))


@pytest.mark.parametrize("name", ["limits", "reproducible", "session"])
def test_objects_among_the_parameters_have_their_members(name: str) -> None:
    method = next(one for one in METHODS if one["name"] == "run_code")
    schema = next(one["schema"] for one in method["params"] if one["name"] == name)
    schema = schema.get("anyOf", [schema])[-1]
    kind = parameters_of(wardian.Client.run_code)[name]
    members = next(one for one in (kind, *get_args(kind)) if is_typeddict(one))
    assert set(get_type_hints(members)) == set(schema["properties"])


def test_every_schema_has_its_class() -> None:
    assert set(CLASSES) | OTHERS == set(SCHEMAS)


@pytest.mark.parametrize("name", CLASSES)
def test_a_result_has_the_members_of_its_schema(name: str) -> None:
    schema = SCHEMAS[name]
    found = get_type_hints(CLASSES[name], localns={"Json": object})
    hints = {key: kind for key, kind in found.items() if key != "raw"}
    if "from_" in hints:  # `from` is a word of Python
        hints["from"] = hints.pop("from_")
    if name == "CreateBlobResult":
        # Blobs of a list have their kind.
        del hints["kind"]
    assert set(hints) == set(schema["properties"])
    for member, described in schema["properties"].items():
        kinds = kinds_of_type(hints[member])
        expected = kinds_of(described)
        if member not in schema["required"] and expected != {"array"}:
            expected |= {"null"}
        assert kinds == expected, member


def test_every_kind_of_error_has_its_class() -> None:
    kinds = {row["kind"] for row in DOCUMENT["x-error-kinds"]}
    assert set(errors.CLASSES) == kinds
    for kind, found in errors.CLASSES.items():
        assert found.kind == kind and found.__name__ in errors.__all__


def test_the_document_fits_the_schema_of_openrpc() -> None:
    # JSON Schemas are checked by the schema of their own draft, below.
    meta = without_other_schemas(json.loads(META.read_text()))
    Draft7Validator(meta).validate(DOCUMENT)  # pyright: ignore[reportUnknownMemberType]
    broken = {**DOCUMENT, "methods": [{"name": "a"}]}
    assert not Draft7Validator(meta).is_valid(broken)  # pyright: ignore[reportUnknownMemberType]
    for method in METHODS:
        for one in [*method["params"], method["result"]]:
            Draft202012Validator.check_schema(one["schema"])
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)


def test_the_server_serves_this_document(client: wardian.Client) -> None:
    served = cast("dict[str, Any]", client.openrpc())
    assert httpx.get(f"{client.url}/openrpc.json").json() == served
    assert without_bounds(served) == without_bounds(DOCUMENT)
    tools = client.tools()
    assert [tool["name"] for tool in tools] == [method["name"] for method in METHODS]
    assert len(tools) == 8


def without_other_schemas(schema: Any) -> Any:
    """The schema without references to the schema of JSON Schemas, which lies elsewhere."""
    if isinstance(schema, list):
        return [without_other_schemas(item) for item in cast("list[Any]", schema)]
    if isinstance(schema, dict):
        members = cast("dict[str, Any]", schema)
        if str(members.get("$ref", "")).startswith("https://meta.json-schema.tools"):
            return {}
        return {name: without_other_schemas(value) for name, value in members.items()}
    return schema


def drop_bounds(schema: dict[str, Any]) -> None:
    """Drops the bounds of a limit, of which the lower one is always there."""
    del schema["minimum"]
    schema.pop("maximum", None)


def without_bounds(document: dict[str, Any]) -> dict[str, Any]:
    """The document without the limits that an operator sets."""
    document = copy.deepcopy(document)
    for method in document["methods"]:
        for parameter in method["params"]:
            if parameter["name"] == "timeout_ms":
                drop_bounds(parameter["schema"])
            if parameter["name"] == "limits":
                for limit in parameter["schema"]["properties"].values():
                    drop_bounds(limit)
    return document
