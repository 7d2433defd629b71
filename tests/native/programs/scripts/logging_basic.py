# script
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stdout)
logging.info("hello %s", "log")
logging.debug("hidden")
