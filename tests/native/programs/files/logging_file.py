import logging
def main(args):
    logging.basicConfig(filename="app.log", level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s", force=True)
    logging.getLogger("x").info("start %d", 5); logging.shutdown()
    return open("app.log").read()
