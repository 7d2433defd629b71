# refused: ModuleNotFoundError: utils
from utils import helper
