import logging
import logging.handlers
import os


def main(args):
    log = logging.getLogger("app")
    log.setLevel(logging.DEBUG)
    h = logging.handlers.RotatingFileHandler("app.log", maxBytes=200, backupCount=2)
    h.setFormatter(logging.Formatter("%(levelname)-8s %(name)s:%(lineno)d %(funcName)s %(message)s"))
    log.addHandler(h)
    log.propagate = False
    for i in range(12):
        log.info("message %d", i)
    try:
        1 / 0
    except ZeroDivisionError:
        log.exception("failed")
    h.close()
    return {"files": sorted(f for f in os.listdir() if f.startswith("app")), "last": open("app.log").read(), "lvl": logging.getLevelName(25), "eff": logging.getLogger("app.sub").getEffectiveLevel()}
