# script
import cProfile
import io
import pstats
import timeit

t = timeit.timeit("sum(range(100))", number=100)
print(t > 0)
pr = cProfile.Profile()
pr.enable()
sorted([3, 1, 2])
pr.disable()
s = io.StringIO()
pstats.Stats(pr, stream=s).sort_stats("cumulative").print_stats()
print("function calls" in s.getvalue())
import tracemalloc

tracemalloc.start()
x = [0] * 1000
print(tracemalloc.get_traced_memory()[0] > 0)
tracemalloc.stop()
