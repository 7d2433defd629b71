# refused: : 
import ctypes
ctypes.CDLL("libc.so.6").getpid()
