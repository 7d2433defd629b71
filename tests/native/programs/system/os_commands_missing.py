import os
def main(args):
    found = [os.waitstatus_to_exitcode(os.system("no-such-tool 2>/dev/null"))]
    with os.popen("no-such-tool 2>/dev/null") as pipe:
        found.append(pipe.read())
    found.append(os.popen("no-such-tool 2>/dev/null").close())
    for call in (lambda: os.execvp("no-such-tool", ["no-such-tool"]),
                 lambda: os.posix_spawn("/no/such/tool", ["tool"], {}),
                 lambda: os.posix_spawnp("no-such-tool", ["tool"], {})):
        try:
            call()
        except FileNotFoundError as error:
            found.append(error.errno)
    return found
