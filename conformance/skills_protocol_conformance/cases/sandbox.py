"""The sandbox of a run: files, isolation, environment and network."""

from ..case import MANIFEST, MUST, SANDBOX, SHOULD, TOOLS, case, expect, expect_equal, shown
from ..session import completed
from ..skills_folder import text

ECHO = "conformance.echo.args"
ENTRY = "conformance.entry.custom"
STEPS = "conformance.work.steps"
EPHEMERAL = TOOLS("execute_skill", "Run a skill's entrypoint in an ephemeral sandbox.")

# Says how an attempt to write ended.
TRY_TO_WRITE = """
def main(args):
    try:
        with open(args['path'], 'w') as file:
            file.write('changed')
    except OSError as error:
        return {'written': False}
    return {'written': True}
"""


@case("sandbox.files-gone", MUST, EPHEMERAL, (STEPS,))
def files_gone(session):
    """A file that a run left in `/workspace` is not there in the next run."""
    for _ in range(3):
        expect_equal(completed(session.step("leave_file")).get("was_there"), False, "that the file is there")


@case("sandbox.memory-gone", MUST, SANDBOX("Sandbox creation", "Each execution creates a new sandbox."))
def memory_gone(session):
    """A change to a module of Python is not there in the next run."""
    code = """
import builtins

def main(args):
    was_there = hasattr(builtins, 'conformance_mark')
    builtins.conformance_mark = True
    return {'was_there': was_there}
"""
    for _ in range(3):
        expect_equal(session.output_of(code).get("was_there"), False, "that the mark is there")


@case(
    "sandbox.workspace", MUST, SANDBOX("Workspace", "`/workspace/` is a writable folder for temporary files.")
)
def workspace(session):
    """A run writes to `/workspace` and reads it again."""
    code = """
def main(args):
    with open('/workspace/note.txt', 'w', encoding='utf-8') as file:
        file.write('Zürich')
    with open('/workspace/note.txt', encoding='utf-8') as file:
        return {'text': file.read()}
"""
    expect_equal(session.output_of(code).get("text"), "Zürich", "the text")


@case(
    "sandbox.skill-files",
    MUST,
    SANDBOX("Skills", "Skills are mounted at `/skills/<skill_name>/`, the executed one too."),
    (ENTRY,),
)
def skill_files(session):
    """A skill that is executed reads its own resource below `/skills`."""
    output = completed(session.execute(ENTRY, {"want": "resource"}))
    expect_equal(output.get("resource"), "a word of the resource", "`resource`")


@case(
    "sandbox.mounted-files",
    MUST,
    SANDBOX("Skills", "Skills of `mount_skills` are mounted at `/skills/<skill_name>/`."),
    (ECHO,),
)
def mounted_files(session):
    """Code reads the files of a mounted skill below `/skills`."""
    code = "def main(args):\n    return {'text': open(args['path'], encoding='utf-8').read()}\n"
    output = session.output_of(code, {"path": f"/skills/{ECHO}/skill.toml"}, mount_skills=[ECHO])
    expect_equal(output.get("text"), text(ECHO, "skill.toml"), "the text of skill.toml")


@case("sandbox.skills-read-only", MUST, SANDBOX("Skills", "Skills are mounted read-only."), (ECHO,))
def skills_read_only(session):
    """Files of a mounted skill cannot be written."""
    args = {"path": f"/skills/{ECHO}/code/main.py"}
    output = session.output_of(TRY_TO_WRITE, args, mount_skills=[ECHO])
    expect_equal(output.get("written"), False, "that the file was written")


@case("sandbox.blob-files", SHOULD, SANDBOX("Blobs", "Blobs can be mounted as files, at `/blobs/<blob_id>`."))
def blob_files(session):
    """Code reads a blob of `input_blobs` as the file `/blobs/<blob_id>`."""
    blob = session.create_blob("a blob as a file")
    code = "def main(args):\n    return {'text': open(args['path']).read()}\n"
    output = session.output_of(code, {"path": f"/blobs/{blob}"}, input_blobs=[blob])
    expect_equal(output.get("text"), "a blob as a file", "the text")


@case("sandbox.blobs-read-only", SHOULD, SANDBOX("Blobs", "Mounted blobs are read-only."))
def blobs_read_only(session):
    """A mounted blob cannot be changed by code."""
    blob = session.create_blob("a blob that stays as it is")
    session.output_of(TRY_TO_WRITE, {"path": f"/blobs/{blob}"}, input_blobs=[blob])
    content = session.call("read_blob", blob_id=blob).get("content")
    expect_equal(content, "a blob that stays as it is", "`content`")


@case("sandbox.blob-not-mounted", SHOULD, TOOLS("run_code", "Blob IDs to mount in sandbox"))
def blob_not_mounted(session):
    """A blob that is neither among `input_blobs` nor in `args` is no file of a run."""
    session.create_blob("not for this run")
    code = """
import os

def main(args):
    return {'blobs': os.listdir('/blobs') if os.path.isdir('/blobs') else []}
"""
    expect_equal(session.output_of(code).get("blobs"), [], "the files of `/blobs`")


@case(
    "sandbox.not-root",
    MUST,
    SANDBOX("Non-root execution", "Runtimes must run code as a user other than root."),
)
def not_root(session):
    """Code cannot do what root may: read the passwords of the system, write below `/etc` and `/usr`.
    The number that `os.getuid()` gives is not looked at: in a sandbox it may mean nothing."""
    code = """
def main(args):
    done = []
    for path, mode in (('/etc/shadow', 'r'), ('/etc/conformance', 'w'), ('/usr/conformance', 'w')):
        try:
            open(path, mode).close()
            done.append(path)
        except OSError:
            pass
    return {'done': done}
"""
    expect_equal(session.output_of(code).get("done"), [], "what only root may do")


@case(
    "sandbox.args-no-variables",
    SHOULD,
    SANDBOX("Environment variables", "Arguments are passed as JSON and never as variables."),
)
def args_no_variables(session):
    """No environment variable holds an argument."""
    code = """
import os

def main(args):
    return {'found': [name for name in os.environ if args['mark'] in os.environ[name] or name == 'mark']}
"""
    expect_equal(session.output_of(code, {"mark": "conformance-argument"}).get("found"), [], "the variables")


@case(
    "sandbox.environment",
    SHOULD,
    SANDBOX("Environment variables", "The environment is sanitised: secrets of the skill and a minimal set."),
)
def environment(session):
    """Code sees at most ten variables, and none whose name tells of a secret."""
    code = "import os\n\ndef main(args):\n    return {'names': sorted(os.environ)}\n"
    names = session.output_of(code).get("names")
    expect(isinstance(names, list) and len(names) <= 10, f"a minimal set, got {shown(names)}")
    telling = [name for name in names if any(word in name for word in ("KEY", "SECRET", "TOKEN", "PASSWORD"))]
    expect(not telling, f"no secrets, got {shown(telling)}")


@case("sandbox.no-network", MUST, MANIFEST("Permissions", "If omitted, no network access."), (STEPS,))
def no_network(session):
    """A skill without permissions cannot connect, not even to the server that it runs on."""
    output = completed(session.step("connect", host=session.transport.host, port=session.transport.port))
    expect_equal(output.get("connected"), False, "that the skill has connected")


@case(
    "sandbox.survives",
    SHOULD,
    SANDBOX("Sandbox creation", "Each execution has a sandbox of its own, with strict isolation."),
)
def survives(session):
    """After runs that exit hard, recurse without end, or ask for much memory, other runs go on."""
    for code in (
        "import os\n\ndef main(args):\n    os._exit(1)\n",
        "def main(args):\n    return main(args)\n",
        "def main(args):\n    return {'size': len(bytearray(1 << 50))}\n",
    ):
        run = session.run(code, {}, limits={"timeout_ms": 20000})
        expect_equal(run.get("status"), "failed", "`status`")
        expect_equal(
            session.output_of("def main(args):\n    return {'alive': True}\n"), {"alive": True}, "`output`"
        )
