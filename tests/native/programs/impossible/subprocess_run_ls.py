# refused: FileNotFoundError: no other program
import subprocess

print(subprocess.run(["ls", "-la"], capture_output=True, text=True, check=True).stdout)
