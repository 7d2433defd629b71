"""The entrypoint; its name and the function's are those of the manifest."""


def begin(args):
    """The function that the manifest names."""
    result = {"called": "begin"}
    if args.get("want") == "helper":
        # Only here: other cases must not depend on helper modules.
        from words import WORD  # noqa: PLC0415

        result["helper"] = WORD
    if args.get("want") == "resource":
        with open("/skills/conformance.entry.custom/resources/word.txt", encoding="utf-8") as file:
            result["resource"] = file.read().strip()
    return result


def main(args):
    """Not the function that the manifest names."""
    return {"called": "main"}
