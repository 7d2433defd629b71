# refused: OSError: program
import os

os.execvp("python", ["python", "-c", "print(1)"])
