# refused: ModuleNotFoundError: not installed
from fastapi import FastAPI
import uvicorn

app = FastAPI()
