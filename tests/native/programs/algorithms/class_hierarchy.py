from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self): ...
    def __lt__(self, o): return self.area() < o.area()
class Sq(Shape):
    def __init__(self, s): self.s = s
    def area(self): return self.s ** 2
    def __repr__(self): return f"Sq({self.s})"
def main(args):
    try:
        Shape()
    except TypeError as e:
        m = str(e)
    return [repr(sorted([Sq(3), Sq(1)])), m, [c.__name__ for c in Sq.__mro__]]
