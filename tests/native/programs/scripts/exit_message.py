# script
import sys
sys.exit("something is wrong")
