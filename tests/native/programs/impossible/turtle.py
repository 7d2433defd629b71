# refused: ModuleNotFoundError: 
import turtle
