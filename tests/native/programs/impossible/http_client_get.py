# refused: OSError|gaierror: network
import http.client


def main(args):
    c = http.client.HTTPSConnection("example.com")
    c.request("GET", "/")
    return c.getresponse().status
