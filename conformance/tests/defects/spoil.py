"""Ways to spoil a stand-in."""

from ..refused import Refused

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
