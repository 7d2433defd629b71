# refused: FileNotFoundError: no other program
import subprocess

print(subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout)
