"""Pages as people write them: `1-3,7,10-`."""

import re

PART = re.compile(r"(\d{1,7})?\s*(-)?\s*(\d{1,7})?")


def parse_pages(text, page_count):
    """Returns the numbers of the chosen pages, in order and each once; all of them for `all`.

    Raises `ValueError` if the text is no list of pages, or a page does not exist.
    """
    if text.strip().lower() in ("", "all"):
        return list(range(1, page_count + 1))
    chosen = {}
    for part in text.split(","):
        first, last = _parse_part(part, page_count)
        for number in (first, last):
            if not 1 <= number <= page_count:
                raise ValueError(f"page {number} does not exist: the document has {page_count}")
        if first > last:
            raise ValueError(f"`pages` has a range that runs backwards: `{part.strip()}`")
        chosen.update(dict.fromkeys(range(first, last + 1)))
    return list(chosen)


def _parse_part(part, page_count):
    found = PART.fullmatch(part.strip())
    if found is None or not any(found.group(1, 3)) or (found[3] and not found[2]):
        raise ValueError(f"`pages` must look like `1-3,7,10-`, not like `{part.strip()}`")
    first = int(found[1] or 1)
    last = int(found[3] or page_count) if found[2] else first
    return first, last


def format_pages(numbers):
    """Returns the same notation for sorted `numbers`: `1-3, 7`."""
    runs = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
