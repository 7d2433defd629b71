def main(args):
    return {"a": 1}["b"]
