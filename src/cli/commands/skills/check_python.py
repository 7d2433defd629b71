"""Looks at the Python of a skill, inside the sandbox and without running any of it.

`args` has `files` (path and text of each Python file), `entrypoint`, `export` and
`provided` (modules of its own packages). Returns a list of findings, each with `file`, `line`, `column` and `end` (columns counted in characters from 0),
`severity`, `code`, `message` and `help`.
"""

import ast
import importlib.util
import sys
import warnings

MAX_FINDINGS = 200
LIBRARY = sys.stdlib_module_names
OWN = {"runtime", "skills"}


def main(args):
    files, entrypoint = args["files"], args["entrypoint"]
    folder = entrypoint.rpartition("/")[0]
    siblings = set()
    for path in files:
        inside = path[len(folder) + 1 :] if folder and path.startswith(folder + "/") else path
        if not folder or path.startswith(folder + "/"):
            siblings.add(inside.partition("/")[0].removesuffix(".py"))
    siblings.update(args["provided"])
    findings = []
    for path, source in files.items():
        tree = parse(path, source, findings)
        if path.rpartition("/")[0] == folder:
            check_name(path, findings)
        if tree is None:
            continue
        check_imports(path, tree, siblings, path == entrypoint, findings)
        if path == entrypoint:
            check_export(path, tree, args["export"], findings)
    findings.sort(key=lambda one: (one["file"], one["line"], one["column"]))
    return {"findings": findings[:MAX_FINDINGS]}


def add(findings, severity, code, path, node, message, help=None):
    line = getattr(node, "lineno", None) or 1
    column = getattr(node, "col_offset", 0) or 0
    end = getattr(node, "end_col_offset", column) if getattr(node, "end_lineno", line) == line else column
    findings.append(
        {
            "severity": severity,
            "code": code,
            "file": path,
            "line": line,
            "column": column,
            "end": end or column,
            "message": message,
            "help": help,
        }
    )


class At:
    def __init__(self, line, column):
        self.lineno, self.col_offset = line or 1, max((column or 1) - 1, 0)


def parse(path, source, findings):
    """The tree of a file; without one the findings say why."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, path)
            # Some mistakes are only seen by the compiler: `return` outside of a function.
            compile(source, path, "exec", dont_inherit=True)
        return tree
    except SyntaxError as error:
        place = At(error.lineno, error.offset)
        add(findings, "error", "python-syntax", path, place, f"is no Python: {error.msg}")
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        reason = str(error) or type(error).__name__
        add(findings, "error", "python-syntax", path, None, f"cannot be compiled: {reason}")
    return None


def check_name(path, findings):
    name = path.rpartition("/")[2].removesuffix(".py")
    help = "give the file another name"
    if name in LIBRARY or name in OWN:
        message = f"`import {name}` means Python's own module here, and this file elsewhere"
        if name in OWN:
            message = f"`import {name}` means the server's own module, never this file"
        add(findings, "warning", "shadows-library", path, None, message, help)
    elif find(name):
        message = f"hides the installed package `{name}` from this skill"
        add(findings, "warning", "shadows-package", path, None, message, help)


def find(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def check_imports(path, tree, siblings, is_entrypoint, findings):
    told = set()
    for node, is_certain in imports(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif node.level:
            continue
        else:
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            if top in OWN or top in siblings or "*" in siblings or top in told or find(top):
                continue
            told.add(top)
            severity = "error" if is_certain and is_entrypoint else "warning"
            add(findings, severity, "package-missing", path, node, *missing(top))


def missing(top):
    """What is said of a package that is not there, and what to do instead."""
    advice = ""
    try:
        __import__(top)
    except ImportError as error:
        # The sandbox adds what to use in place of popular packages.
        advice = str(error).partition(top)[2].lstrip("'\"`:;,. ")
        advice = advice.removeprefix("it is not installed; ")
    except Exception:
        pass
    usual = "`wardian engine info` lists what is there; pure Python can lie beside the entrypoint"
    return f"there is no package `{top}` in the sandbox", advice or usual


def imports(tree):
    """Import statements, each with whether it runs when the module is loaded and must succeed."""
    pending = [(tree, True)]
    while pending:
        node, is_certain = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, is_certain
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.If, ast.While)):
            is_certain = False
        if isinstance(node, (ast.Try, ast.TryStar)):
            if any(catches_import_error(handler) for handler in node.handlers):
                # Whoever catches the error can do without; what follows it counts.
                rest = [*node.handlers, *node.orelse, *node.finalbody]
                pending.extend((child, False) for child in rest)
                continue
        pending.extend((child, is_certain) for child in ast.iter_child_nodes(node))


def catches_import_error(handler):
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def check_export(path, tree, export, findings):
    names, is_open = set(), False
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                is_open |= alias.name == "*"
                names.add(alias.asname or alias.name.partition(".")[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            is_open |= node.func.id in {"globals", "exec", "setattr", "vars", "eval"}
    defined = set()
    pending = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif not isinstance(node, ast.expr):
            pending.extend(ast.iter_child_nodes(node))
    if export in names or export in defined or is_open:
        return
    near = sorted(name for name in defined if not name.startswith("_"))
    help = f"define it as `def {export}(args):`"
    if near:
        help += ", or set `export` to " + " or ".join(f'"{name}"' for name in near[:3])
    message = f"does not define `{export}`, which the manifest exports"
    add(findings, "error", "export-missing", path, None, message, help)
