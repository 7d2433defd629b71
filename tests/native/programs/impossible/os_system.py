# refused: : process
import os
os.system("ls -la")
