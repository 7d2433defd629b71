# refused: : program
import os
os.execvp("ls", ["ls"])
