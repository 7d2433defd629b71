# refused: FileNotFoundError: no JavaScript
import subprocess
print(subprocess.run(["node", "--version"], capture_output=True).stdout)
