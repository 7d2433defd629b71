def main(args):
    found = []
    try:
        raise ExceptionGroup("several", [ValueError("a"), TypeError("b"), OSError(2, "c")])
    except* ValueError as group:
        found.append([repr(e) for e in group.exceptions])
    except* (TypeError, OSError) as group:
        found.append([repr(e) for e in group.exceptions])
    error = RuntimeError("x")
    error.add_note("a note")
    found.append(error.__notes__)
    return found
