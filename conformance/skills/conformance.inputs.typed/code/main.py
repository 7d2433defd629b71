"""Returns its arguments, and the text of a blob."""

from runtime import blobs


def main(args):
    result = {"count": args.get("count"), "unit": args.get("unit")}
    if args.get("note_blob"):
        result["note"] = blobs.read_text(args["note_blob"])
    return result
