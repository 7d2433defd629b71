import traceback
def g(): raise KeyError("missing")
def main(args):
    try:
        g()
    except KeyError as e:
        return [type(e).__name__, str(e), traceback.format_exc().splitlines()[-1]]
