import asyncio, os, subprocess
def main(args):
    found = []
    for tail in ("", " 2>/dev/null", " 2>&1", " >/dev/null 2>&1"):
        done = subprocess.run(["/bin/bash", "-c", "x"] if False else "no-such-tool -a" + tail, shell=True,
                              capture_output=True, text=True)
        found.append([done.returncode, "not found" in done.stdout, "not found" in done.stderr])
    with os.popen("no-such-tool 2>&1") as pipe:
        found.append("not found" in pipe.read())
    return found
