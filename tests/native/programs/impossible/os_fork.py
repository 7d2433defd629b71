# refused: : program
import os
os.fork()
