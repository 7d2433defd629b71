import traceback
def inner(x): return 1 / x
def outer(): 
    try:
        inner(0)
    except ZeroDivisionError as error:
        raise ValueError("wrapped") from error
def main(args):
    try:
        outer()
    except ValueError as error:
        lines = traceback.format_exception(error)
        frames = traceback.extract_tb(error.__traceback__)
        return [lines[-1].strip(), [frame.name for frame in frames], error.__cause__.args[0],
                "direct cause" in "".join(lines), traceback.format_exc().splitlines()[-1]]
