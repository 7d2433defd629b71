"""The secrets that the skill declares: `secrets.get("ACME_API_KEY")`.

They are environment variables of the same names, too. A secret with `secret_hosts` is a placeholder
of the same shape: put it into headers as if it was the key. The gateway puts the key in its place
when it sends the request to one of those hosts.
"""

from __future__ import annotations

from _wardian import door
from _wardian.refusals import SecretNotDeclared

__all__ = ["SecretNotDeclared", "get", "names"]


def get(name: str) -> str:
    """Returns the value of a secret, or its placeholder.

    Raises:
        SecretNotDeclared: The skill does not declare it; the message has the line to add.
    """
    environment = door.job.get("environment", {})
    if name in environment:
        return environment[name]
    raise SecretNotDeclared(_advice(name))


def names() -> list[str]:
    """Returns the names of the secrets that this run has, sorted."""
    return sorted(door.job.get("environment", {}))


def _advice(name: object) -> str:
    skill = door.job.get("program", {}).get("skill")
    if skill is None:
        return (
            f"code that came with a call has no secrets, so there is no {name!r}: "
            "put the code into a skill that declares it, and execute the skill"
        )
    declared = ", ".join(names()) or "none"
    return (
        f"the skill `{skill['name']}` does not declare the secret {name!r}: add "
        f'`secrets = ["{name}"]` to `[permissions]` in its skill.toml (it declares: {declared})'
    )


def __dir__() -> list[str]:
    """The public names alone: what is not among them is no help to callers."""
    return sorted(__all__)
