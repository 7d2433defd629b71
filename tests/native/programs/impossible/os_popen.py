# refused: : process
import os
print(os.popen("date").read())
