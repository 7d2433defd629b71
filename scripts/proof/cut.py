"""Programs as cells: cut where one statement at the top ends and the next one begins."""

import ast

CALL_MAIN = "main({})"


def statements(source):
    """The parts of a program, each of which has whole lines and one statement at least.

    A program that this Python cannot read, because it is newer, is one part.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return [source]
    lines = source.splitlines(keepends=True)
    begins = []
    end = 0
    for statement in tree.body:
        decorators = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
        # Statements that share a line stay together.
        if first > end:
            begins.append(first)
        end = max(end, statement.end_lineno)
    if not begins:
        return [source]
    # What stands above the first statement belongs to it.
    begins[0] = 1
    ends = [*(begin - 1 for begin in begins[1:]), len(lines)]
    return ["".join(lines[first - 1 : last]) for first, last in zip(begins, ends, strict=True)]


def defines_main(source):
    """True if the program is a function that a run would call."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return "\ndef main(" in f"\n{source}"
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(isinstance(part, functions) and part.name == "main" for part in tree.body)


def grouped(parts, most, chance):
    """At most `most` cells of these parts; where they are cut is chance."""
    if not most or len(parts) <= most:
        return parts
    cuts = sorted(chance.sample(range(1, len(parts)), most - 1))
    bounds = zip([0, *cuts], [*cuts, len(parts)], strict=True)
    return ["".join(parts[first:last]) for first, last in bounds]
