# refused: ModuleNotFoundError: psutil
import psutil

print(psutil.virtual_memory().percent)
