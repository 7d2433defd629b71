# refused: FileNotFoundError: interpreter
import os

os.execvp("python", ["python", "-c", "print(1)"])
