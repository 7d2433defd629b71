# refused: ModuleNotFoundError: scikit-learn
import torch
