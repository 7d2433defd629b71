"""The command line of `python3`: its options, and what is to be executed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_USAGE = "usage: {} [option] ... [-c cmd | -m mod | file | -] [arg] ...\nTry `python -h' for more information.\n"
_FLAGS = frozenset("bBdEhiIOPqRsStuvVx?")
_WITH_VALUE = frozenset("cmWX")
_LONG = {"--help": "h", "--version": "V", "--help-all": "h", "--help-env": "h", "--help-xoptions": "h"}


class UsageError(Exception):
    """A command line that the interpreter refuses. The text is for its error stream."""


class Command:
    """What a command line asks for."""

    def __init__(self) -> None:
        self.kind = "stdin"
        """`file`, `code`, `module`, `stdin`, `version` or `help`."""
        self.value = ""
        self.arguments: list[str] = []
        """The new `sys.argv`."""
        self.flags: set[str] = set()
        self.optimization = 0
        self.warnings: list[str] = []
        self.settings: list[str] = []

    @property
    def ignores_environment(self) -> bool:
        """True if variables such as PYTHONPATH mean nothing."""
        return bool(self.flags & {"E", "I"})

    @property
    def is_safe_path(self) -> bool:
        """True if the folder of the program is not searched for modules."""
        return bool(self.flags & {"P", "I"})


def parsed(words: Sequence[str], program: str) -> Command:
    """Reads the words behind the name of the interpreter.

    Raises:
        UsageError: An option is not known, or lacks its value.
    """
    command = Command()
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        if word == "--check-hash-based-pycs":
            if not rest:
                raise UsageError(_refusal(f"Argument expected for the {word} option", program))
            rest.pop(0)
            continue
        if word.startswith("--"):
            if word not in _LONG:
                raise UsageError(_refusal(f"unknown option {word}", program))
            word = f"-{_LONG[word]}"
        if _read_letters(command, word[1:], rest, program):
            break
    if {"h", "?"} & command.flags:
        command.kind = "help"
    elif "V" in command.flags:
        command.kind = "version"
    if command.kind in ("code", "module"):
        command.arguments = [{"code": "-c", "module": "-m"}[command.kind], *rest]
    elif command.kind == "stdin":
        if rest and rest[0] != "-":
            command.kind, command.value = "file", rest[0]
        command.arguments = rest or [""]
    return command


def _read_letters(command: Command, letters: str, rest: list[str], program: str) -> bool:
    """Reads a word of short options. True if it names the program, so that no other options follow."""
    for at, letter in enumerate(letters):
        if letter in _FLAGS:
            command.flags.add(letter)
            command.optimization += letter == "O"
            continue
        if letter not in _WITH_VALUE:
            raise UsageError(_refusal(f"Unknown option: -{letter}", program))
        value = letters[at + 1 :] or (rest.pop(0) if rest else None)
        if value is None:
            raise UsageError(_refusal(f"Argument expected for the -{letter} option", program))
        if letter == "W":
            command.warnings.append(value)
            return False
        if letter == "X":
            command.settings.append(value)
            return False
        command.kind = "code" if letter == "c" else "module"
        command.value = value
        return True
    return False


def _refusal(reason: str, program: str) -> str:
    return f"{reason}\n{_USAGE.format(program)}"


def version_text(command: Command) -> str:
    """What `--version` prints."""
    return f"Python {sys.version.split()[0]}\n"


def help_text(program: str) -> str:
    """What `--help` prints."""
    return (
        _USAGE.format(program).partition("\n")[0]
        + "\n-c cmd : program passed in as string\n-m mod : run library module as a script\n"
        "-O     : remove assert statements\n-u     : do not buffer stdout and stderr\n"
        "-W arg : warning control\n-V     : print the version\n"
        "file   : program read from script file\n-      : program read from stdin\n"
    )
