# refused: ModuleNotFoundError: 
import tensorflow as tf
