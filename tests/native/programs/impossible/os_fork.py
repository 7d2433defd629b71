# refused: : process
import os
os.fork()
