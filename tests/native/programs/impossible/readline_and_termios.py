# refused: ModuleNotFoundError|ImportError: 
import termios
import tty

tty.setraw(0)
