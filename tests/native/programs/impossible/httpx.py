# refused: ModuleNotFoundError: network
import httpx
