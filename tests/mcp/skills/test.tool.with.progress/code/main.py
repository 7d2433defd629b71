import time

import runtime


def main(args):
    for done in (0, 50, 100):
        runtime.progress(done, 100)
        time.sleep(0.06)
    return {"text": "Done."}
