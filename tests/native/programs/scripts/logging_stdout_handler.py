# script
import logging
import sys

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="[%(levelname)s] %(message)s")
log = logging.getLogger(__name__)
log.info("name is %s", __name__)
log.critical("bye")
