"""One function for each thing to do."""

import os
import socket
import time

from runtime import blobs, log


def main(args):
    """Does what `args["do"]` names."""
    return STEPS[args["do"]](args)


def print_text(args):
    print(args["text"])
    return {"printed": True}


def log_text(args):
    log.info(args["text"])
    return {"logged": True}


def print_much(args):
    for number in range(2000):
        print("line", number, "of a long log")
    return {"printed": True}


def write_blob(args):
    return {"blob": blobs.write_text(args["text"])}


def read_blob(args):
    return {"text": blobs.read_text(args["blob"])}


def raise_error(args):
    raise ValueError(args["text"])


def sleep(args):
    time.sleep(args["seconds"])
    return {"slept": True}


def return_much(args):
    return {"rows": ["a row of a large result"] * 4000}


def connect(args):
    try:
        socket.create_connection((args["host"], args["port"]), timeout=5).close()
    except Exception as error:  # however the sandbox refuses
        return {"connected": False, "error": type(error).__name__}
    return {"connected": True}


def leave_file(args):
    was_there = os.path.exists("/workspace/left-by-conformance")
    with open("/workspace/left-by-conformance", "w", encoding="utf-8") as file:
        file.write("left")
    return {"was_there": was_there}


STEPS = {
    "print": print_text,
    "log": log_text,
    "print_much": print_much,
    "write_blob": write_blob,
    "read_blob": read_blob,
    "raise": raise_error,
    "sleep": sleep,
    "return_much": return_much,
    "connect": connect,
    "leave_file": leave_file,
}
