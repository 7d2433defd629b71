"""The part of Wardian that lives inside the sandbox: runs one program and reports its end.

The host builds an image once (see `bootstrap.py`) and starts every run from a copy of it with the
source text

    import _wardian; _wardian.run()

That text is a promise to the host, but in a finished image it is never compiled: the bootstrap
puts `run` where the interpreter would parse it.

`run` asks the host for the job, prepares the process (random seeds, environment, arguments), runs
the program and answers with exactly one of RETURNED and RAISED:

- `runner`: the order of these steps, and how a program is loaded;
- `door`: requests to the host, as bytes; `refusals`: its refusals as exceptions;
- `importer`: mounted skills as modules below `skills`;
- `event_loop`: asyncio without threads; `threads`: threads one after another;
- `network`: connections of the gateway; `sockets`, `names`, `tls` (with `tls_constants` and
  `tls_trust`) and `readiness`: the C modules `_socket`, `_ssl` and `select` on top of them;
- `script`: programs as scripts and modules; `advice`: errors that say what to do instead;
- `packages`: what is not installed, and what to use for it; `figures`: what `plt.show` shows;
- `entrypoint`: which function is called, and with what;
- `result`, `failure`: the two ways to end, as frames; `trace`: tracebacks as text;
- `sizes`: what messages say of sizes beyond 32-bit addresses;
- `amendments`: library modules that take a position for the default integer;
- `rehearsal`: runs while the image is built;
- `places`: paths;
- `errors`: error numbers of Linux;
- `platform`: the machine as a program sees it, with `files`, `locks`, `accounts`, `names`, `derive`.

Everything here is imported when the image is built. At run time nothing is imported, and nothing
that runs after the user's code relies on names that this code can rebind in shared modules: the
modules keep references of their own, and have builtins of their own. That is politeness, not a
wall: a program can always lie about itself, but only about itself.
"""

from __future__ import annotations

from _wardian.runner import run

__all__ = ["run"]
