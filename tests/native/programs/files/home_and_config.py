import json
import os
from pathlib import Path


def main(args):
    cfg = Path.home() / ".config" / "app" / "settings.json"
    cfg.parent.mkdir(parents=True, exist_ok=True)
    cfg.write_text(json.dumps({"theme": "dark"}))
    cache = Path(os.path.expanduser("~/.cache/app"))
    os.makedirs(cache, exist_ok=True)
    return {"theme": json.loads(cfg.read_text())["theme"], "cache": cache.is_dir(), "env": "HOME" in os.environ, "get": os.getenv("NOPE", "dflt"), "user": bool(os.path.expanduser("~"))}
