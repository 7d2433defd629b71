# refused: completed: no other program
import os
print(os.popen("date").read())
