# refused: : process
import multiprocessing as mp
p = mp.Process(target=print, args=("x",)); p.start(); p.join()
