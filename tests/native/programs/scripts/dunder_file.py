# script
import os
print(os.path.basename(__file__) if "__file__" in globals() else "main.py")
