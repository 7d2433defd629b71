# refused: FileNotFoundError: no other program
import os
os.execvp("vim", ["vim", "a.txt"])
