# script
import math
if (n := len("hello")) > 3:
    print(f"{n=} {math.pi:.3f} {'nested ' + f'{n}'} {n!r:>4}")
