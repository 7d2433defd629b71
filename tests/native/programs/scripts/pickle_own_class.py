# script
import pickle
class P:
    def __init__(self, x): self.x = x
print(pickle.loads(pickle.dumps(P(5))).x, P.__module__)
