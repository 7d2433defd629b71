# script
COUNT = 0
class Counter:
    def hit(self):
        global COUNT
        COUNT += 1
c = Counter()
for _ in range(3):
    c.hit()
print(COUNT, __name__)
