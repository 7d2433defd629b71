# refused: CalledProcessError: no other program
import subprocess


def main(args):
    out = subprocess.check_output("ps aux | awk '/python/'", shell=True)
    return len(out.splitlines())
