# refused: ModuleNotFoundError: 
import tkinter
