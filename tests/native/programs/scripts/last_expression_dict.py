# script
import statistics
data = [3, 1, 4, 1, 5]
{"mean": statistics.mean(data), "max": max(data)}
