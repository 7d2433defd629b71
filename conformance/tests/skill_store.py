"""The skills of the stand-in: those of the suite, and the guide."""

import functools

import tomllib

from skills_protocol_conformance.skills_folder import folder

GUIDE = """---
name: Skills Protocol Guide
short_description: How to use the eight methods.
tags: [guide]
---

# Skills Protocol Guide

Discover with `list_skills`, `describe_skill` and `read_skill_file`. Run with `execute_skill` and `run_code`.
Large content is kept with `create_blob` and `read_blob`.
"""
GUIDE_MANIFEST = """name = "skills.protocol.guide"
version = "0.1.0"
description = "How to use the eight methods."
kind = "instruction"
"""


class Skill:
    """A skill of one version."""

    def __init__(self, files):
        self.files = files
        self.manifest = tomllib.loads(files["skill.toml"].decode())
        self.name, self.version = self.manifest["name"], self.manifest["version"]
        self.document = files["SKILL.md"].decode()
        self.frontmatter = frontmatter(self.document)

    @property
    def order(self):
        """The version as numbers."""
        return tuple(map(int, self.version.split(".")))


def frontmatter(document):
    """The simple YAML that the suite's skills have."""
    found = {}
    for line in document.split("---\n")[1].splitlines():
        key, _, value = line.partition(": ")
        is_list = value.startswith("[")
        found[key] = [item.strip() for item in value[1:-1].split(",")] if is_list else value
    return found


@functools.lru_cache
def load_skills():
    """All skills of the suite, and the guide; nobody changes them."""
    skills = [Skill({"skill.toml": GUIDE_MANIFEST.encode(), "SKILL.md": GUIDE.encode()})]
    for place in sorted(folder().iterdir()):
        files = [file for file in place.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
        skills.append(Skill({file.relative_to(place).as_posix(): file.read_bytes() for file in files}))
    return tuple(skills)
