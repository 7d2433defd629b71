# refused: : process
import os
os.execvp("ls", ["ls"])
