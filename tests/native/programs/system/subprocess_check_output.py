# script
import subprocess

print(subprocess.check_output("echo hi; echo $((6 * 7))", shell=True, text=True))
