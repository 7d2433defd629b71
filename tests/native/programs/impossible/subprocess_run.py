# refused: FileNotFoundError: no other program
import subprocess
print(subprocess.run(["ls"], capture_output=True).stdout)
