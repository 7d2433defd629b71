from datetime import datetime
def main(args):
    return [str(datetime.strptime("21 Nov 2026 3:04PM", "%d %b %Y %I:%M%p")), str(datetime.strptime("2026-W02-1", "%G-W%V-%u")), str(datetime.strptime("2026-01-02 +0530", "%Y-%m-%d %z"))]
