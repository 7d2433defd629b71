"""Pairs of sessions and runs of two tenants: neither learns anything of the other.

A session, or a run, of one tenant leaves marks wherever it can, and is then kept, forked or closed, as
chance has it. A session, or a run, of another tenant looks for the marks in all of its memory, its files
and its settings: a session once when it begins, and once more after it was resumed from its own packs. It
also asks for the other's session by its id, which has to be as unknown as an id that nobody has, and finds
none of its names in its lists. The packs on the disk have no marks in the clear.

The programs are those of `leak-pairs`, in tests/fixtures/leak. The server keeps one interpreter, so that
nearly every cell evicts another session and takes its slot.
"""

import collections
import contextlib
import importlib.machinery
import importlib.util
import json
import re
import threading
from pathlib import Path

import collapse
import served
from bench import tenants

from proof.notebook import Session, ask

KINDS = ("session, session", "session, run", "run, session")
"""Who leaves marks, and who looks for them. `leak-pairs` has two runs."""

FATES = ("kept", "resumed", "forked", "closed")
"""What becomes of a session that has left marks before the other one looks for them."""

PATHS = {"shared": "workers that tenants share", "apart": "workers of one tenant each"}

ENDS = ("return", "raise", "leave", "exhaust", "spin", "abort")
"""Ways in which the cell that leaves marks ends, by their names in tests/fixtures/leak."""

SHORT_ENDS = tuple(end for end in ENDS if end != "exhaust")
"""Without the one that takes most of the time."""

IN_SESSIONS = {"spin": {"timeout_ms": 900}}
"""Parameters of cells that would not end."""

UNKNOWN = "ses_" + "a" * 26
SHORT_PAIRS = 50
END = "Z"
"""Ends a mark: names of temporary files go on with other letters."""
PACKS_EVERY = 5
"""Pairs from one search of the packs on the disk to the next."""


def load_pairs():
    """The script `leak-pairs` as a module: both proofs look for the same marks in the same way."""
    path = str(served.REPOSITORY / "scripts/leak-pairs")
    loader = importlib.machinery.SourceFileLoader("leak_pairs", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("leak_pairs", loader))
    loader.exec_module(module)
    return module


leak_pairs = load_pairs()


def add_options(parser):
    """The options of this proof."""
    parser.add_argument("--pairs", type=int, default=10_000, help="how many [default: 10000]")
    parser.add_argument("--path", choices=sorted(PATHS), default="shared",
        help="workers that tenants share, or workers of one tenant each [default: shared]")  # fmt: skip
    parser.add_argument("--workers", type=int, default=1,
        help="workers of the server, and pairs at the same time [default: 1]")  # fmt: skip
    parser.add_argument("--collapse", action="store_true",
        help="have the kernel make huge pages of the workers' memory within each pair; it takes root")  # fmt: skip


def prove(program, options):
    """All pairs; returns the summary."""
    pairs = SHORT_PAIRS if options.short else options.pairs
    if options.collapse and not collapse.is_offered():
        raise SystemExit("this kernel does not collapse memory, or this user may not tell it to")
    settings = {
        "sessions.warm": 1, "sessions.max": 1_000, "sessions.quota": "64 GiB", "images.max_age": 0,
        "limits.max.timeout": "10 min", "workers.spares": 0,
        "tenants.isolation": "shared" if options.path == "shared" else "process",
    }  # fmt: skip
    chosen = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    arguments = ("--workers", str(options.workers), "--log-level=warn", *chosen)
    with tenants.serving(program, leak_pairs.TENANTS, *arguments) as (server, keys):
        hunt = Hunt(server, keys, pairs, options.path, options.collapse)
        hunt.ways = SHORT_ENDS if options.short else ENDS
        hunt.prepare()
        threads = [threading.Thread(target=hunt.work) for _ in range(options.workers)]
        for thread in threads:
            thread.start()
        leak_pairs.watch(hunt, threads, options.json)
        hunt.search_packs()
    return hunt.summary()


class Hunt(leak_pairs.Hunt):
    """All pairs on one server, and their findings."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.pristine_of = {}
        self.ways = ENDS
        self.kinds = collections.Counter()
        self.fates = collections.Counter()
        self.packs_read = self.resumed = 0
        self.owners = {}
        """The key of the tenant that has left each mark."""
        self.unsteady = set()
        """Settings that differ between sessions of a server without marks."""

    def prepare(self):
        """Records what a session sees where nobody has left anything, and proves that marks are found."""
        client = self.server.client(self.keys[0])
        self.pristine = self.search(client, leak_pairs.SMALL)
        for _ in range(3):
            for turn, settings in enumerate(self.searches_of_session(self.keys[0], leak_pairs.SMALL)):
                known = self.pristine_of.setdefault(turn, settings)
                self.unsteady |= {name for name in known if known[name] != settings[name]}
        if self.hits:
            raise SystemExit(f"a server without marks has some: {self.hits}")
        self.prove_search()

    def prove_search(self):
        """A session that looks for its own marks finds them, after a resume as well."""
        with Session(self.server, self.keys[0]) as session:
            self.leave_in(session, self.keys[0], "return", f"{self.prefix}-control{END}")
            # Another session takes its place.
            with Session(self.server, self.keys[0]) as other:
                other.cell("1")
            found = self.seen_by(session, leak_pairs.SMALL)["found"]
        for place in ("memory", "files", "objects"):
            if place not in found:
                self.note(f"the search does not see a mark in `{place}`")

    def pair(self, leaver, client, number):
        """One that leaves marks and one that looks for them, which are of two tenants."""
        one, other = leaver.key, client.key
        turn, kind = divmod(number, len(KINDS))
        who, seeker = KINDS[kind].split(", ")
        end = self.ways[turn % len(self.ways)]
        fate = FATES[(turn + turn // len(self.ways)) % len(FATES)]
        sizes = leak_pairs.LARGE if turn % 20 == 10 else leak_pairs.SMALL
        canary = f"{self.prefix}-{number}{END}"
        with contextlib.ExitStack() as stack:
            if who == "run":
                self.leave_in_run(leaver, end, canary, sizes)
            else:
                session = stack.enter_context(Session(self.server, one))
                self.leave_in(session, one, end, canary, sizes)
                self.ask_as(client, session)
                self.meet(session, fate, stack)
            if self.collapses:
                self.collapse()
            if seeker == "run":
                self.compare(self.search(client, sizes), self.pristine, f"a run after {end}")
            else:
                for at, now in enumerate(self.searches_of_session(other, sizes)):
                    self.compare(now, self.pristine_of[at], f"search {at + 1} of a session after {end}")
            self.search_lists(client)
            # While the packs of both are there.
            if number % PACKS_EVERY == 0:
                self.search_packs()
        with self.lock:
            self.kinds[KINDS[kind]] += 1

    def leave_in_run(self, client, end, canary, sizes):
        """A run that leaves marks."""
        with self.lock:
            self.owners[canary] = client.key
        ending = next(one for one in leak_pairs.ENDINGS if one["end"] == end)
        args = {"canary": leak_pairs.masked(canary), "end": end, **sizes}
        params = {**leak_pairs.PATIENCE, **ending.get("params", {})}
        if "fuel" in params.get("limits", {}):
            params.pop("limits")
        result = client.run(leak_pairs.MARK, args, **params)
        with self.lock:
            self.ends[f"run: {served.end_of(result)}"] += 1

    def leave_in(self, session, key, end, canary, sizes=leak_pairs.SMALL):
        """A session whose first cell leaves marks: in memory, files, descriptors, settings, and as the
        name of a blob. Its second cell ends as it is told."""
        with self.lock:
            self.owners[canary] = key
        client = self.server.client(key)
        name = f"{canary}.txt"
        client.call("create_blob", {"content": canary, "kind": "text/plain", "name": name})
        client.close()
        args = {"canary": leak_pairs.masked(canary), "end": "return", **sizes}
        code = f"{leak_pairs.MARK}\nmain({args!r})"
        marked = session.cell(code, keep_files=False)
        if served.end_of(marked) != "completed" or session.state != "kept":
            self.note(f"a cell that leaves marks ended as {served.end_of(marked)}, {session.state}: "
                      f"{marked['summary'][:300]}")  # fmt: skip
        if end != "return":
            code = f"ENDS[{end!r}](unmasked({args['canary']!r}))"
            marked = session.cell(code, keep_files=False, **IN_SESSIONS.get(end, {}))
        with self.lock:
            self.ends[f"session: {served.end_of(marked)}, {session.state}"] += 1

    def meet(self, session, fate, stack):
        """What becomes of a session with marks."""
        with self.lock:
            self.fates[fate] += 1
        if fate == "resumed":
            with Session(self.server, session.client.key) as other:
                other.cell("1")
            session.cell("len(KEPT)", keep_files=False)
        elif fate == "forked":
            status, body = session.ask("POST", "/fork", {"count": 1})
            made = json.loads(body)["forks"][0] if status < 300 else {"error": body[:200]}
            if "id" not in made:
                self.note(f"a fork was refused: {made}")
                return
            fork = Session(self.server, session.client.key)
            fork.id = made["id"]
            stack.enter_context(fork).cell("len(KEPT)", keep_files=False)
        elif fate == "closed":
            session.ask("DELETE")
            session.state = "closed"

    def searches_of_session(self, key, sizes):
        """The settings that a session sees in its first cell, and after it was resumed."""
        with Session(self.server, key) as session:
            yield self.looked(session, sizes)
            # Only one interpreter is kept.
            with Session(self.server, key) as other:
                other.cell("1")
            if session.is_warm():
                self.note("a session that should have been parked was kept")
            with self.lock:
                self.resumed += 1
            yield self.looked(session, sizes)

    def looked(self, session, sizes):
        """The settings that a search in a session sees. What it finds is noted."""
        output = self.seen_by(session, sizes)
        for place, what in output["found"].items():
            self.note(f"a session found {place}: {what}")
        return output["settings"]

    def seen_by(self, session, sizes):
        """What a search in a session has seen."""
        args = {"needle": self.needle, **sizes}
        result = session.cell(f"{leak_pairs.SEARCH}\nmain({args!r})", keep_files=False)
        if served.end_of(result) != "completed":
            raise RuntimeError(f"a search ended as {served.end_of(result)}: {result['summary'][:300]}")
        output = served.output_of(session.client, result)
        self.taste(output["fresh"])
        return output

    def compare(self, now, pristine, where):
        """Notes settings that are not those of an interpreter that nobody has used."""
        for name, value in now.items():
            if name not in self.unsteady and value != pristine[name]:
                self.note(f"{name} is {str(value)[:200]}, not {str(pristine[name])[:200]}: {where}")

    def ask_as(self, client, session):
        """Another tenant names the session; each answer has to be that for an id that nobody has."""
        state = {"checkpoint": session.checkpoint}
        for verb, more, body in (
            ("GET", "", None), ("GET", "/cells", None), ("GET", "/files", None), ("GET", "/notebook", None),
            ("POST", "/fork", state), ("POST", "/restore", state), ("POST", "/interrupt", {}),
            ("DELETE", "", None),
        ):  # fmt: skip
            answers = [ask(client, verb, f"/{id}{more}", body) for id in (session.id, UNKNOWN)]
            (status, one), (right, other) = answers
            same = one.replace(session.id.encode(), b"") == other.replace(UNKNOWN.encode(), b"")
            if status != right or not same:
                self.note(f"{verb} {more} of another's session: {status} {one[:200]!r}, not {other[:200]!r}")
            self.count_asked()
        told = []
        for id in (session.id, UNKNOWN):
            call = {"language": "python", "code": "1", "session": id}
            error = json.loads(client.post("run_code", call))
            told.append(json.dumps(error.get("error", "it was executed")).replace(id, ""))
        if told[0] != told[1]:
            self.note(f"a cell in another's session: {told[0][:200]}, not {told[1][:200]}")
        self.count_asked()

    def count_asked(self):
        with self.lock:
            self.asked += 1

    def search_lists(self, client):
        """Lists of sessions and of blobs have no name that another tenant has given."""
        for path in ("/v1/sessions?limit=100", "/v1/blobs?limit=100"):
            status, body = client.request("GET", path)
            if status != 200:
                self.note(f"{path} was answered with {status}: {body[:200]!r}")
            for mark in set(re.findall(rf"{self.prefix}-\w+?{END}", body.decode())):
                if self.owners.get(mark) != client.key:
                    self.note(f"{path} of another tenant has {mark}")

    def search_packs(self):
        """Looks for marks, of anybody, in the packs on the disk: they are encrypted."""
        needle = self.prefix.encode()
        data = Path(self.data_folder())
        for pack in (data / "sessions").rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                if not pack.is_file():
                    continue
                content = pack.read_bytes()
                with self.lock:
                    self.packs_read += 1
                if needle in content:
                    self.note(f"a pack has a mark in the clear: {pack.name}")

    def data_folder(self):
        """The server's data folder."""
        words = Path(f"/proc/{self.server.process.pid}/cmdline").read_bytes().split(b"\0")
        return words[words.index(b"--data-dir") + 1].decode()

    def summary(self):
        """What was proved."""
        return {
            "pairs": self.done,
            "kinds": dict(self.kinds),
            "path": self.path,
            "fates": dict(self.fates),
            "ends": dict(self.ends),
            "random_values": self.values,
            "ids_asked_for": self.asked,
            "searches_after_a_resume": self.resumed,
            "packs_read": self.packs_read,
            "collapse_tried": self.tried,
            "collapse_done": self.collapsed,
            "repeated": self.repeated,
            "settings_not_compared": sorted(self.unsteady),
            "hits": len(self.hits),
            "first_hits": self.hits[:20],
            "passed": not self.hits and self.done == self.pairs,
        }
