# refused: ModuleNotFoundError: openai
from openai import OpenAI

print(OpenAI().models.list())
