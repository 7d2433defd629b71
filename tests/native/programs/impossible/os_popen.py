# refused: : program
import os
print(os.popen("date").read())
