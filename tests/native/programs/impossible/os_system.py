# refused: : program
import os
os.system("ls -la")
