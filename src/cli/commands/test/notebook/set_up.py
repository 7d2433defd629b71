def _wardian_set_up(blob, folder, places):
    """Puts the files of a project where a notebook finds them, and works in the notebook's folder."""
    import json
    import os
    import sys

    from runtime import blobs

    root = "/tmp/project"
    content = blobs.read_bytes(blob)
    end = content.index(b"\n")
    at = end + 1
    for path, size in json.loads(content[:end]):
        place = f"{root}/{path}"
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as out:
            out.write(memoryview(content)[at : at + size])
        at += size
    os.makedirs(f"{root}/{folder}", exist_ok=True)
    os.chdir(f"{root}/{folder}")
    sys.path[:0] = [os.getcwd(), *(os.path.join(root, place) for place in places)]
