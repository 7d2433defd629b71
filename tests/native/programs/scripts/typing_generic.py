# script
class Stack[T]:
    def __init__(self): self.items: list[T] = []
    def push(self, x: T): self.items.append(x); return self
def first[T](xs: list[T]) -> T: return xs[0]
type Pair = tuple[int, int]
print(Stack[int]().push(3).items, first([9]), Pair.__name__)
