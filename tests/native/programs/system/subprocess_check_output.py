# script
import subprocess

print(subprocess.check_output("echo hi && echo you", shell=True, text=True))
