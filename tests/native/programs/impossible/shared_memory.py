# refused: OSError|ImportError|ModuleNotFoundError: 
from multiprocessing import shared_memory

s = shared_memory.SharedMemory(create=True, size=10)
print(s.size)
