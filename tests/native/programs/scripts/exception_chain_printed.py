# script
import traceback


def load(x):
    try:
        return int(x)
    except ValueError as e:
        raise RuntimeError("load failed") from e


try:
    load("abc")
except RuntimeError:
    traceback.print_exc()
try:
    {}["k"]
except KeyError as e:
    print(traceback.format_exception_only(e))
    e.add_note("a note")
    print("".join(traceback.format_exception(e)))
try:
    raise ExceptionGroup("many", [ValueError(1), TypeError("t")])
except* ValueError as g:
    print(repr(g))
except* TypeError as g:
    print(g.exceptions)
