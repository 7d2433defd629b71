"""The skills that the cases need, and how they come into a server's folder."""

import shutil
from pathlib import Path
from typing import List

# The older version of the skill with two versions. A runtime may have no place for it.
OLDER_VERSION = "conformance.versions.many@1.9.0"


def folder() -> Path:
    """The folder with the skills: inside of an installed package, beside it in a checkout."""
    here = Path(__file__).resolve().parent
    return next(place for place in (here / "skills", here.parent / "skills") if place.is_dir())


def content(skill: str, path: str) -> bytes:
    """The bytes of a file of a skill."""
    return folder().joinpath(skill, path).read_bytes()


def text(skill: str, path: str) -> str:
    """The text of a file of a skill."""
    return content(skill, path).decode("utf-8")


def install(target: Path) -> List[str]:
    """Copies the skills into a server's folder and returns their names. What lies there under such a
    name is replaced."""
    target.mkdir(parents=True, exist_ok=True)
    names = []
    for skill in sorted(folder().iterdir()):
        if not (skill / "skill.toml").is_file():
            continue
        place = target / skill.name
        if place.exists():
            shutil.rmtree(place)
        shutil.copytree(skill, place, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        names.append(skill.name)
    return names
