from dateutil import parser
def main(args):
    return [str(parser.parse(s)) for s in ("Nov 21, 2026 5pm", "2026-11-21T17:00Z", "21/11/2026", "5 January 1999")] + [str(parser.parse("03/04/2026", dayfirst=True))]
