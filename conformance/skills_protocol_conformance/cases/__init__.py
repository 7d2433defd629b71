"""The cases, one module for each area. Importing this package fills the list of cases."""

from . import rpc, listing, describing, files, executing, code, sandbox, blobs, guide, extensions
from . import sessions

AREAS = {
    "rpc": "JSON-RPC 2.0 over HTTP",
    "list": "list_skills",
    "describe": "describe_skill",
    "files": "read_skill_file",
    "execute": "execute_skill",
    "code": "run_code",
    "sandbox": "The sandbox of a run",
    "blobs": "create_blob and read_blob",
    "guide": "load_skills_protocol_guide",
    "ext": "Extensions",
    "sessions": "Extension: sessions",
}

__all__ = ["AREAS", "rpc", "listing", "describing", "files", "executing", "code", "sandbox"]
__all__ += ["blobs", "guide", "extensions", "sessions"]
