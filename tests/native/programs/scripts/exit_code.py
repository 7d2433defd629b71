# script
import sys
print("bad")
sys.exit(3)
