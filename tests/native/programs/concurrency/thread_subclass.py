import threading
class W(threading.Thread):
    def __init__(self, n): super().__init__(); self.n = n; self.result = None
    def run(self): self.result = self.n * 2
def main(args):
    ws = [W(i) for i in range(3)]
    for w in ws: w.start()
    for w in ws: w.join()
    return [w.result for w in ws]
