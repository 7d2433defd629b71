"""The modules `pwd` and `grp`: one user and one group, those of a container."""

from __future__ import annotations

import os
import sys
from operator import index
from types import ModuleType
from typing import Any, NamedTuple


class struct_passwd(NamedTuple):
    """An entry of the password database."""

    pw_name: str
    pw_passwd: str
    pw_uid: int
    pw_gid: int
    pw_gecos: str
    pw_dir: str
    pw_shell: str


class struct_group(NamedTuple):
    """An entry of the group database."""

    gr_name: str
    gr_passwd: str
    gr_gid: int
    gr_mem: list[str]


_USER = struct_passwd("root", "x", 0, 0, "root", "/workspace", "/bin/sh")
_GROUP = struct_group("root", "x", 0, [])


def _checked(name: str) -> str:
    """Refuses an invalid name with CPython's messages."""
    if not isinstance(name, str):
        raise TypeError(f"argument must be str, not {type(name).__name__}")
    if "\0" in name:
        raise ValueError("embedded null character")
    os.fsencode(name)
    return name


def _number(value: int) -> int:
    """Refuses an invalid number of a group; `pwd` does not find such a number."""
    number = index(value)
    if not -1 <= number < 1 << 32:
        raise OverflowError("Python int too large to convert to C unsigned int")
    return number


def getpwuid(uid: int) -> struct_passwd:
    """Returns the user of that number."""
    if index(uid) != 0:
        raise KeyError(f"getpwuid(): uid not found: {uid}")
    return _USER


def getpwnam(name: str) -> struct_passwd:
    """Returns the user of that name."""
    if _checked(name) != "root":
        raise KeyError(f"getpwnam(): name not found: {name!r}")
    return _USER


def getpwall() -> list[struct_passwd]:
    """Returns all users."""
    return [_USER]


def getgrgid(gid: int) -> struct_group:
    """Returns the group of that number."""
    if _number(gid) != 0:
        raise KeyError(f"getgrgid(): gid not found: {gid}")
    return _GROUP


def getgrnam(name: str) -> struct_group:
    """Returns the group of that name."""
    if _checked(name) != "root":
        raise KeyError(f"getgrnam(): name not found: {name!r}")
    return _GROUP


def getgrall() -> list[struct_group]:
    """Returns all groups."""
    return [_GROUP]


def install() -> None:
    """Makes the two modules importable."""
    for name, parts in (
        ("pwd", (struct_passwd, getpwuid, getpwnam, getpwall)),
        ("grp", (struct_group, getgrgid, getgrnam, getgrall)),
    ):
        module: Any = ModuleType(name, "The users and groups of this sandbox: `root` alone.")
        for part in parts:
            setattr(module, part.__name__, part)
        sys.modules[name] = module
