from datetime import datetime
def main(args):
    try:
        datetime(2026, 2, 30)
    except ValueError as e:
        return ["day" in str(e), type(e).__name__]
