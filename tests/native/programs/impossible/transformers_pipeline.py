# refused: ModuleNotFoundError: transformers
from transformers import pipeline

print(pipeline("sentiment-analysis")("great"))
