# refused: completed: no other program
import os

print(os.popen("git log --oneline").read())
