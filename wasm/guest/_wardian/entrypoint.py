"""Calls the entrypoint of a program with arguments that fit its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from types import FunctionType
from typing import Any

from _wardian import event_loop
from _wardian.failure import EntrypointNotFound

_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_signature = inspect.signature


def find(namespace: Mapping[str, Any], name: str, where: str) -> Callable[..., Any]:
    """Returns the function called `name`.

    Raises:
        EntrypointNotFound: There is none; the message lists the functions of the program.
    """
    function = namespace.get(name)
    if callable(function):
        return function
    problem = f"`{where}` does not define the function `{name}`"
    if function is not None:
        problem = f"`{name}` in `{where}` is no function"
    defined = ", ".join(
        f"`{other}`"
        for other, value in namespace.items()
        if type(value) is FunctionType and value.__module__ == namespace.get("__name__")
    )
    found = f"it defines {defined}" if defined else "it defines no functions"
    remedy = f"put the code into `def {name}(args):` and return the result"
    if not defined:
        remedy += ", or leave `entrypoint` out to run it as a script"
    raise EntrypointNotFound(f"{problem}; {found}; {remedy}")


def call(function: Callable[..., Any], args: dict[str, Any]) -> Any:
    """Calls `function` with the arguments of the run, and awaits its value if it is awaitable.

    A single parameter receives the whole dict, as the protocol defines: `def main(args)`. A
    function without parameters is called without arguments. Several parameters, or keyword-only
    ones, receive the arguments of their names. If these do not fit and one positional argument is
    enough, the function gets the dict.

    Raises:
        TypeError: The parameters cannot be filled; the message lists them.
    """
    value = called(function, args)
    if event_loop.is_awaitable(value):
        return event_loop.run(value)
    return value


def called(function: Callable[..., Any], args: dict[str, Any]) -> Any:
    """As `call`, but does not await.

    Raises:
        TypeError: The parameters cannot be filled; the message lists them.
    """
    if type(function) is FunctionType and not hasattr(function, "__wrapped__"):
        code = function.__code__
        parameters = code.co_argcount + code.co_kwonlyargcount
        if parameters == 1 and code.co_argcount:
            return function(args)
        if not parameters and not code.co_flags & _VARIADIC:
            return function()
    return _call_by_signature(function, args)


def _call_by_signature(function: Callable[..., Any], args: dict[str, Any]) -> Any:
    try:
        parameters = list(_signature(function).parameters.values())
    except (TypeError, ValueError):
        return function(args)
    if not parameters:
        return function()
    if _fit_by_name(parameters, args):
        return function(**args)
    if _takes_one(parameters):
        return function(args)
    raise TypeError(_misfit(function, parameters, args))


def _fit_by_name(parameters: list[Parameter], args: dict[str, Any]) -> bool:
    """True if there are several parameters, or keyword ones, and `args` fills them exactly."""
    kinds = [parameter.kind for parameter in parameters]
    if Parameter.VAR_POSITIONAL in kinds or Parameter.POSITIONAL_ONLY in kinds:
        return False
    if kinds == [Parameter.POSITIONAL_OR_KEYWORD]:
        return False
    named = {p.name: p for p in parameters if p.kind is not Parameter.VAR_KEYWORD}
    required = {name for name, p in named.items() if p.default is Parameter.empty}
    return required <= args.keys() and (
        Parameter.VAR_KEYWORD in kinds or args.keys() <= named.keys()
    )


def _takes_one(parameters: list[Parameter]) -> bool:
    """True if the parameters can be called with one positional argument."""
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    first = parameters[0].kind
    if first not in (*positional, Parameter.VAR_POSITIONAL):
        return False
    return all(
        p.default is not Parameter.empty
        or p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        for p in parameters[1:]
    )


def _misfit(function: Callable[..., Any], parameters: list[Parameter], args: dict[str, Any]) -> str:
    name = getattr(function, "__name__", "the entrypoint")
    wanted = ", ".join(str(parameter) for parameter in parameters)
    given = ", ".join(f"`{key}`" for key in args) or "nothing"
    return (
        f"`{name}({wanted})` cannot be called with the arguments of this run: `args` has {given}; "
        f"define `def {name}(args):` to receive them as one dict"
    )
