# refused: : timeout
import signal
signal.alarm(2)
