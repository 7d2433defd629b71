# refused: OSError: there are no other processes in the sandbox
import multiprocessing
def work(x): return x
def main(args):
    process = multiprocessing.Process(target=work, args=(1,))
    process.start()
