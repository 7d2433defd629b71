# refused: ModuleNotFoundError|ImportError: 
import curses

curses.wrapper(lambda s: s.getch())
