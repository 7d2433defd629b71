"""Answers of the sandbox beside those that native CPython gave, as `tests/native` compares them."""

import json
import math
import re

TOLERANCE = 1e-9
NOISE = 1e-12
NUMBER = re.compile(r"[0-9.e]+")
PLACE = re.compile(r"(main\.py|<cell \d+>):\d+")
"""A line of a program. In a cell it has another number and another file."""


class Expected:
    """How a program has to end. `answer` is what `record-native` wrote, `first` the program's first line."""

    def __init__(self, answer, source):
        first = source.partition("\n")[0]
        self.refusal = first.removeprefix("# refused:") if first.startswith("# refused:") else None
        self.answer = answer or {}
        self.is_script_with_main = first.startswith("# script") and "def main(" in source

    def difference(self, results):
        """How the results of all cells differ; `None` if they do not."""
        last, logs = results[-1], "".join(result["logs_preview"] for result in results)
        if self.refusal is not None:
            return self._unrefused(last, logs)
        difference = self._other_end(last)
        native, logs = (PLACE.sub("line", text) for text in (self.answer["logs"], logs))
        if difference is None and not same_text(native, logs):
            difference = f"the log: {native[:300]!r} natively, {logs[:300]!r} here"
        return difference

    def _unrefused(self, last, logs):
        classes, _, text = self.refusal.partition(":")
        classes = [one.strip() for one in classes.split("|") if one.strip()]
        text = text.strip().lower()
        if "completed" in classes:
            told = last["status"] == "completed" and text in logs.lower()
            return None if told else "the log has no word of what is refused"
        if last["status"] != "failed":
            return f"was not refused: {str(last['output'])[:300]}"
        kind, message = last["error"]["type"], last["error"]["message"]
        if classes and kind not in classes or text not in message.lower():
            return f"refused with {kind}: {message[:300]}"
        return None

    def _other_end(self, last):
        error = self.answer.get("error")
        if last["status"] == "failed":
            kind, message = last["error"]["type"], last["error"]["message"]
            if error is None:
                return f"fine natively, {kind} here: {message[:300]}"
            same = kind == error["type"] and error["message"].strip("'") in message
            return None if same else f"{error} natively, {kind} here: {message[:300]}"
        if error is not None:
            return f"{error['type']} natively, {str(last['output'])[:300]} here"
        value = self.answer["value"]
        if self.is_script_with_main or isinstance(value, dict) and "not json" in value:
            return None
        if value is not None and not isinstance(value, dict):
            value = {"result": value}
        if same_value(value, last["output"]):
            return None
        return f"{json.dumps(value)[:300]} natively, {json.dumps(last['output'])[:300]} here"


def same_value(native, here):
    """True for equal JSON values. Floating-point numbers are equal within a tolerance."""
    if isinstance(native, bool) or isinstance(here, bool):
        return native is here
    if isinstance(native, (int, float)) and isinstance(here, (int, float)):
        if isinstance(native, float) != isinstance(here, float):
            return False
        return native == here or isinstance(native, float) and close(native, here)
    if type(native) is not type(here):
        return False
    if isinstance(native, list):
        return len(native) == len(here) and all(map(same_value, native, here))
    if isinstance(native, dict):
        return native.keys() == here.keys() and all(
            same_value(value, here[name]) for name, value in native.items()
        )
    return same_text(native, here) if isinstance(native, str) else native == here


def same_text(native, here):
    """True for equal texts. Floating-point numbers in them are equal within a tolerance."""
    if native == here:
        return True
    if NUMBER.split(native) != NUMBER.split(here):
        return False
    pairs = zip(NUMBER.findall(native), NUMBER.findall(here), strict=True)
    return all(one == other or _close_texts(one, other) for one, other in pairs)


def _close_texts(one, other):
    are_floats = all(set(text) & set(".e") for text in (one, other))
    try:
        return are_floats and close(float(one), float(other))
    except ValueError:
        return False


def close(one, other):
    """True for floating-point numbers of which libraries and processors may give either."""
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    largest = max(abs(one), abs(other))
    return one == other or abs(one - other) <= TOLERANCE * largest or largest < NOISE


def first_difference(one, other, path=""):
    """The first place at which two shown results differ, as a line; `None` if there is none."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            found = first_difference(one.get(name), other.get(name), f"{path}.{name}")
            if found is not None:
                return found
        return None
    if one == other:
        return None
    one, other = json.dumps(one), json.dumps(other)
    at = next((n for n, both in enumerate(zip(one, other)) if both[0] != both[1]), 0)
    start = max(at - 40, 0)
    return f"{path.removeprefix('.')}: kept {one[start : at + 120]}, parked {other[start : at + 120]}"
