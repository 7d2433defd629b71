from dataclasses import dataclass, field, asdict
@dataclass(order=True)
class Item:
    price: float
    name: str = field(compare=False)
    tags: list = field(default_factory=list)
def main(args):
    return [asdict(i) for i in sorted([Item(3, "c"), Item(1.5, "a", ["x"]), Item(2, "b")])]
