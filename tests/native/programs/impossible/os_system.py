# refused: completed: no other program
import os
os.system("ls -la")
