"""Programs that inspect the state of a session. `Remote.aside` runs them in a copy of it.

They may define names, since the copy is discarded. Their value is a text or a list.
"""

from __future__ import annotations

from collections.abc import Iterable

from wardian.jupyter.syntax import Name

TEXT_MAX = 50_000
"""Maximum length of the text of a value, in characters. A longer one is truncated and says so."""

_TEXT = """
def wardian_text(value):
    text = repr(value)
    left = len(text) - {most}
    return text if left <= 0 else f"{{text[:{most}]}}... ({{left}} more characters)"
"""

_VALUE = _TEXT + "wardian_text(Out[{number}])"

_NAMES = """
sorted(
    name
    for name in {names}
    if isinstance(name, str)
    and name.startswith({prefix!r})
    and ({hidden} or not name.startswith("_"))
)
"""

_ANY_NAME = "{*globals(), *dir(__import__('builtins')), *__import__('keyword').kwlist}"

_ABOUT = """
def wardian_about(thing):
    import inspect
    lines = []
    try:
        lines.append(f"Signature: {name}{{inspect.signature(thing)}}")
    except (TypeError, ValueError):
        pass
    lines.append(f"Type: {{type(thing).__name__}}")
    if not callable(thing):
        text = repr(thing)
        lines.append(f"Value: {{text if len(text) <= 200 else text[:200] + '...'}}")
    if {with_source}:
        try:
            lines.append(f"Source:\\n{{inspect.getsource(thing).rstrip()}}")
            return "\\n".join(lines)
        except (OSError, TypeError):
            pass
    documentation = inspect.getdoc(thing)
    if documentation:
        lines.append(f"Docstring:\\n{{documentation}}")
    return "\\n".join(lines)

wardian_about({name})
"""

_EXPRESSIONS = (
    _TEXT
    + """
def wardian_evaluated(text):
    try:
        return ["ok", wardian_text(eval(text, globals()))]
    except Exception as error:
        return ["error", type(error).__name__, str(error)]

list(map(wardian_evaluated, {texts!r}))
"""
)


def value_of(number: int) -> str:
    """The `repr` of the value of a cell that has just ended, as text."""
    return _VALUE.format(number=number, most=TEXT_MAX)


def names_for(name: Name) -> str:
    """The names that complete what was typed, as a list."""
    names = f"dir({name.owner})" if name.owner else _ANY_NAME
    return _NAMES.format(names=names, prefix=name.prefix, hidden=name.prefix.startswith("_"))


def about(name: str, *, with_source: bool) -> str:
    """What is known of the object with this dotted name, as text."""
    return _ABOUT.format(name=name, with_source=with_source)


def evaluated(expressions: Iterable[str]) -> str:
    """For each expression `["ok", text]` or `["error", class, message]`, as a list."""
    return _EXPRESSIONS.format(texts=list(expressions), most=TEXT_MAX)
