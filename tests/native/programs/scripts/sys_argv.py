# script
import sys
print(len(sys.argv), sys.argv[1:])
