import shutil, subprocess
def main(args):
    found = [shutil.which("no-such-tool")]
    for call in (lambda: subprocess.run(["no-such-tool", "--version"], capture_output=True),
                 lambda: subprocess.check_output(["no-such-tool"]),
                 lambda: subprocess.Popen(["no-such-tool"]), lambda: subprocess.call(["no-such-tool"])):
        try:
            call()
        except FileNotFoundError as error:
            found.append([error.errno, error.filename == "no-such-tool"])
    done = subprocess.run("no-such-tool --version", shell=True, capture_output=True, text=True)
    found += [done.returncode, done.stdout, "not found" in done.stderr]
    try:
        subprocess.run("no-such-tool", shell=True, check=True, stderr=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        found.append([error.returncode, error.cmd])
    code, text = subprocess.getstatusoutput("no-such-tool -x")
    found += [code, "not found" in text]
    return found
