"""Returns its arguments, and what is in its blob."""

from runtime import blobs


def main(args):
    """Returns them under `args`."""
    sheet = args.get("sheet")
    return {
        "args": args,
        "sheet": blobs.read_text(sheet) if sheet else None,
        "mounted": [blob.id for blob in blobs.list()],
    }
