"""Finds tools for `search_tools` as programs find them: the best first, one line for each."""

import json

from runtime import tools

MOST = 3_500  # bytes of all lines as JSON: what a result holds
LONGEST_CALL = 1_500  # letters


def main(args):
    query = args["query"]
    known = tools.list()
    found = tools.search(query, len(known)) if query.strip() else known
    if not found:
        return {"found": nothing(known, query)}
    lines, room = [], MOST
    for tool in found[: args["limit"]]:
        line = line_of(tool)
        room -= len(json.dumps(line)) + 1
        if lines and room < 0:
            break
        lines.append(line)
    more = len(found) - len(lines)
    if more:
        lines.append(f"({more} more: search with other words, or with a `limit`)")
    return {"found": "\n".join(lines)}


def line_of(tool):
    call, told = tool["call"], tool["description"]
    if len(call) > LONGEST_CALL:
        call = call.partition("(")[0] + "(...)"
        told = f"{told} (`help` shows the arguments)".lstrip()
    return f"{call}  # {told}" if told else call


def nothing(known, query):
    if not known:
        return "There are no tools."
    servers = sorted({tool["name"].partition(".")[0] for tool in known})
    return f"No tool has these words. There are {len(known)} tools of: {', '.join(servers)}."
