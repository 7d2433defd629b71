# refused: ModuleNotFoundError: tensorflow
import tensorflow as tf

print(tf.constant([1, 2]))
