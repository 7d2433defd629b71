# script
import matplotlib.pyplot as plt

plt.plot([1, 2, 3], [4, 5, 6], "ro--")
plt.xlabel("x")
plt.ylabel("y")
plt.title("T")
plt.grid(True)
plt.show()
plt.savefig("after.png")
import os

print(os.path.exists("after.png"))
print(plt.get_backend().lower() == "agg")
