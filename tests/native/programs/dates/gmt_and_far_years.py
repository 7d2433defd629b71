import email.utils
import logging
import time


def main(args):
    epoch = time.gmtime(0)
    formatter = logging.Formatter("%(asctime)s", "%Y-%m-%d %Z")
    formatter.converter = time.gmtime
    record = logging.makeLogRecord({"msg": "x", "created": 86400.0})
    far = (33658, 9, 27, 1, 46, 39, 0, 270, 0)
    return {
        "zone": [epoch.tm_zone, epoch.tm_gmtoff, time.strftime("%Z", epoch)],
        "http": time.strftime("%a, %d %b %Y %H:%M:%S %Z", time.gmtime(1e9)),
        "mail": email.utils.formatdate(1e9, usegmt=True),
        "logged": formatter.format(record),
        "far": [time.strftime(one, far) for one in ("%Y", "%F", "%G-%V", "%D %y")],
        "repr": repr(epoch),
        "fields": [time.mktime(time.localtime(1e9)), tuple(time.gmtime(1e9))],
    }
