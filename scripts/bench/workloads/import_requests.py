def main(args):
    import requests

    return requests.codes.ok
