# script
with open("out.txt", "w") as f:
    f.write("42")
import os
print(os.path.exists("out.txt"), os.getcwd(), open("out.txt").read())
