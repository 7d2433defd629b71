"""Errors of calls of the stand-in."""


class Refused(Exception):
    """An error of a call."""

    def __init__(self, code, kind, message, parameter=None):
        super().__init__(message)
        self.code, self.kind, self.message, self.parameter = code, kind, message, parameter


def wrong(parameter, message="has a wrong value"):
    """A parameter is wrong."""
    return Refused(-32602, "invalid_params", f"`{parameter}` {message}", parameter)
