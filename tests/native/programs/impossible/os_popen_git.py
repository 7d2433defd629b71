# refused: completed: no repositories
import os

print(os.popen("git log --oneline").read())
