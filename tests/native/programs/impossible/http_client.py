# refused: : network
import http.client
c = http.client.HTTPSConnection("example.com"); c.request("GET", "/")
