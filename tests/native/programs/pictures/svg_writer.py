# script
import math

pts = []
for i in range(10):
    r = 50 if i % 2 == 0 else 20
    a = math.pi / 5 * i - math.pi / 2
    pts.append((100 + r * math.cos(a), 100 + r * math.sin(a)))
svg = '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="200"><polygon points="' + " ".join(f"{x:.2f},{y:.2f}" for x, y in pts) + '" fill="gold"/></svg>'
with open("star.svg", "w") as f:
    f.write(svg)
print(len(svg))
print(svg)
