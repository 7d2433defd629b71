# refused: CalledProcessError: no other program
import subprocess


def main(args):
    out = subprocess.check_output("cat /etc/passwd | wc -l", shell=True)
    return int(out)
