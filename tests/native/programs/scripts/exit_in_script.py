# script
import sys
print("one")
sys.exit(0)
print("two")
