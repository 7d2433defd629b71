"""The part of Wardian that lives inside the sandbox: runs one program and reports its end.

The host builds an image once (see `bootstrap.py`) and starts every run from a copy of it with the
source text

    import _wardian; _wardian.run()

A finished image never compiles that text: the bootstrap replaces the interpreter's parser by `run`.

`run` asks the host for the job, prepares the process (random seeds, environment, arguments), runs
the program and answers with exactly one of RETURNED and RAISED:

- `runner`: the order of these steps, and how a program is loaded;
- `door`: requests to the host, as bytes; `refusals`: its refusals as exceptions;
- `importer`: mounted skills as modules below `skills`;
- `event_loop`: asyncio without threads; `threads`: threads one after another;
- `network`: connections of the gateway; `sockets`, `names`, `tls` (with `tls_constants` and
  `tls_trust`) and `readiness`: the C modules `_socket`, `_ssl` and `select` on top of them;
- `script`: programs as scripts and modules; `advice`: errors with advice for the sandbox;
- `programs`: other programs, of which there are Python (`child`, with `child_modules`, `child_state`, `descriptors` and
  `interpreter_options`), a `shell` (with `shell_syntax` and `shell_options`) and `utilities`; `foreign`: the missing ones; `popen` and
  `shells`: `subprocess` and asyncio on top of them; `signals`: ends by a signal;
- `packages`: missing packages and their substitutes; `late`: what packages of an image find only
  in runs; `figures`: figures and pictures as files;
- `entrypoint`: the call of the entrypoint with its arguments;
- `result`, `failure`: the two reports of the end; `trace`: tracebacks as text; `remarks`: reasons
  that errors do not show;
- `conversion`: values that are no JSON data, with `leaves`, `arrays` and `tables` for kinds of
  values; `place`: where a part of a value is;
- `sizes`: messages about sizes beyond 32-bit addresses;
- `import_hooks`: modules that are changed when they are imported, or are implemented here;
  `amendments`: changes to library modules that assume 64-bit positions, with `counting` and
  `library`; `patches`: changes to packages, with the codecs for pictures and tables;
- `cells`: the cells of a session in the place of one program, with `display`, `magics` and `notebook`
  (what IPython offers them), `asking`: what a cell waits for, `called_tools` and `tool_schemas`: the tools of its
  caller as functions, and `forks`: a state that is continued a second time;
- `whole_programs`: runs that may wait for their caller, as the only cell of a session;
- `rehearsal`: runs while the image is built;
- `places`: paths;
- `errors`: error numbers of Linux;
- `platform`: the machine in the view of a program, with `files`, `locks`, `accounts`, `names`,
  `derive`, `clock` and `mapping`.

Everything here is imported when the image is built. At run time nothing is imported, and code that
runs after the user's code does not rely on names that the user's code can rebind in shared modules:
the modules keep references and builtins of their own. This is not a security boundary: a program
can falsify its own report, but not that of another run.
"""

from __future__ import annotations

from _wardian.runner import run

__all__ = ["run"]
