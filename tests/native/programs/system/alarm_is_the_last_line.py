# script
import signal
signal.alarm(2)
