# refused: ConnectionError: network
import requests
print(requests.get("https://example.com").text)
