import time


def main(args):
    for line in ("started", "processing", "completed"):
        print(line)
        time.sleep(0.06)
    return {"text": "Done."}
