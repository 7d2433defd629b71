import io, signal, traceback
def main(args):
    out = io.StringIO()
    def handler(signum, frame):
        print(traceback.extract_stack(frame)[-1].name, file=out)
        raise TimeoutError("late")
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    def busy():
        while True:
            pass
    try:
        busy()
    except TimeoutError:
        traceback.print_exc(file=out)
    text = out.getvalue()
    return [text.splitlines()[0], "in busy" in text, "in handler" in text, text.strip().splitlines()[-1], "wardian" in text]
