# script
import os

code = os.system("echo hello > out.txt")
print(code, open("out.txt").read())
