# refused: ConnectError: network
import httpx

print(httpx.get("https://x.org").status_code)
