import os, signal, time
class Service:
    def __init__(self):
        self.running, self.steps = True, 0
        signal.signal(signal.SIGTERM, self.stop)
        signal.signal(signal.SIGINT, self.stop)
    def stop(self, signum, frame):
        print("received", signal.Signals(signum).name)
        self.running = False
    def run(self):
        while self.running:
            self.steps += 1
            if self.steps == 3:
                os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
        return self.steps
def main(args):
    return Service().run()
