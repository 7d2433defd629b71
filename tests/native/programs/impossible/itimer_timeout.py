# refused: OSError: timeout_ms
import signal

signal.setitimer(signal.ITIMER_REAL, 0.5)
