# refused: CalledProcessError: no other program
import subprocess
subprocess.check_output("echo hi", shell=True)
