# refused: : 
import queue
def main(args):
    queue.Queue().get()
