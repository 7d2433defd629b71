def main(args):
    return {"text": "This is a simple text response for testing."}
