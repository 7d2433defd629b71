# refused: completed: no other program
import os
print(os.popen("free -m").read())
