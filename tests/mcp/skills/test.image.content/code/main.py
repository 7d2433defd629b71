import base64

import runtime

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)


def main(args):
    runtime.blobs.write_bytes(PNG, kind="image/png")
    return {"text": "An image."}
