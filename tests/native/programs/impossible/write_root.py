# refused: : 
open("/usr/x.txt", "w").write("x")
