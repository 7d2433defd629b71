# script
import logging

logging.warning("disk %d%%", 91)
logging.info("not shown")
logging.basicConfig(level=logging.DEBUG, format="%(levelname)s:%(name)s:%(message)s", force=True)
logging.info("shown")
logging.getLogger("a.b").debug("deep")
print("printed")
logging.error("err", exc_info=False)
logging.getLogger().handlers[0].stream.write("direct\n")
