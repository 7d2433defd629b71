# refused: ModuleNotFoundError: network
import openai
