# refused: : process
import subprocess
print(subprocess.run(["ls"], capture_output=True).stdout)
