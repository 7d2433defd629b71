# refused: ModuleNotFoundError: sklearn
import torch
