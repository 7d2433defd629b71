# refused: ModuleNotFoundError|ImportError: matplotlib
import tkinter as tk

tk.Tk().mainloop()
