# refused: ModuleNotFoundError: torch
import torch
import torch.nn as nn

model = nn.Linear(2, 1)
print(model(torch.randn(1, 2)))
