"""Returns what it was called with and what it sees."""

import os
import sys

from runtime import blobs, run


def main(args):
    """Returns all of it."""
    return {
        "args": args,
        "argv": sys.argv,
        "run_args": run.args,
        "run_id": run.id,
        "skills": sorted(os.listdir("/skills")),
        "blobs": [blob.id for blob in blobs.list()],
        "environment": dict(os.environ),
        "file": __file__,
        "name": __name__,
    }
