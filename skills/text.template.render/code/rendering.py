"""Renders a template in Jinja's sandbox, with errors that name the line and what there is."""

import difflib

import jinja2
from jinja2 import meta
from jinja2.sandbox import ImmutableSandboxedEnvironment, SecurityError

from filters import FILTERS

MAX_OUTPUT = 32 << 20
NAMES_SHOWN = 40
MAIN = "template"


class TemplateError(ValueError):
    """The template is wrong, or does not fit its data; the message says where and why."""


class HelpfulUndefined(jinja2.StrictUndefined):
    """A name without a value. Any use is an error that tells which names have one."""

    __slots__ = ()

    @property
    def _undefined_message(self):
        message = super()._undefined_message
        if self._undefined_hint is not None:
            return message
        name = self._undefined_name
        if self._undefined_obj is jinja2.utils.missing:
            return f"`{name}` is not defined"
        owner = self._undefined_obj
        if isinstance(owner, dict):
            return f"an object has no member `{name}`{known(name, owner, 'Members')}"
        if isinstance(owner, (list, tuple)) and isinstance(name, int):
            return f"a list of {len(owner)} has no item {name}"
        if owner is None:
            return f"`{name}` is asked of nothing: the value before it is null"
        return message


def known(name, names, label):
    """Returns the names that there are, after the one that was probably meant."""
    names = [str(one) for one in names]
    close = difflib.get_close_matches(str(name), names, 1, 0.7)
    hint = f"; did you mean `{close[0]}`?" if close else "."
    shown = ", ".join(f"`{one[:60]}`" for one in names[:NAMES_SHOWN]) or "none"
    return f"{hint} {label}: {shown}" + (", …" if len(names) > NAMES_SHOWN else "")


def make_environment(args, sources):
    """Returns the sandbox in which `sources` are templates by name."""
    is_trimmed = args.get("trim_blocks", True)
    environment = ImmutableSandboxedEnvironment(
        # A name for each file makes errors tell which template they come from.
        loader=jinja2.FunctionLoader(lambda n: (sources[n], n, None) if n in sources else None),
        undefined=HelpfulUndefined
        if args.get("undefined") != "empty"
        else jinja2.ChainableUndefined,
        autoescape=args.get("escape") == "html",
        trim_blocks=is_trimmed,
        lstrip_blocks=is_trimmed,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
        # Bytecode of other runs does not exist, and this one has few templates.
        cache_size=100,
    )
    environment.filters.update(FILTERS)
    return environment


def render(args, source, names):
    """Returns the text that the template `source` makes of `names`."""
    sources = {MAIN: source}
    for name, text in (args.get("includes") or {}).items():
        if not isinstance(text, str):
            raise TemplateError(f"`includes.{name}` must be a text")
        if name == MAIN:
            raise TemplateError(f"`includes` cannot have a template called `{MAIN}`")
        sources[name] = text
    environment = make_environment(args, sources)
    try:
        template = environment.get_template(MAIN)
        parts, size = [], 0
        for part in template.generate(names):
            size += len(part)
            if size > MAX_OUTPUT:
                raise TemplateError(f"the result has more than {MAX_OUTPUT >> 20} MiB")
            parts.append(part)
        return "".join(parts)
    except TemplateError:
        raise
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(f"{place(error.name, error.lineno)}: {error.message}") from None
    except jinja2.TemplateNotFound as error:
        raise TemplateError(
            f"there is no template `{error.name}` in `includes`"
            f"{known(error.name, [name for name in sources if name != MAIN], 'Includes')}"
        ) from None
    except jinja2.UndefinedError as error:
        raise TemplateError(
            f"{where(error, sources)}: {error.message}"
            f"{others(environment, source, names, error.message)}"
        ) from None
    except SecurityError as error:
        raise TemplateError(f"{where(error, sources)}: the sandbox refuses it: {error}") from None
    except RecursionError:
        raise TemplateError("templates or loops call each other without an end") from None
    except MemoryError:
        raise
    except Exception as error:
        raise TemplateError(f"{where(error, sources)}: {type(error).__name__}: {error}") from None


def others(environment, source, names, message):
    """Returns the names that there are, and the others that the template uses without a value."""
    if not message.endswith("is not defined"):
        return ""
    used = meta.find_undeclared_variables(environment.parse(source)) - set(environment.globals)
    missing = message.split("`")[1]
    text = known(missing, names, "Defined")
    further = sorted(used - set(names) - {missing})
    if further:
        text += f". Not defined either: {', '.join(f'`{name[:60]}`' for name in further[:20])}"
    return text


def where(error, sources):
    """Returns the template and the line that an error comes from."""
    found, trace = None, error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name in sources:
            found = (name, trace.tb_lineno)
        trace = trace.tb_next
    return place(*found) if found else "the template"


def place(name, line):
    """Returns `line 3`, with the template's name if it is one of `includes`."""
    of = "" if name in (None, MAIN) else f" of `{name}`"
    return f"line {line}{of}"
