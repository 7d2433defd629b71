# refused: ModuleNotFoundError: json
import ujson
