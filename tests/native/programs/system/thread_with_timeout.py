import threading
def run_with_timeout(function, seconds):
    result = {}
    def target():
        try:
            result["value"] = function()
        except Exception as error:
            result["error"] = repr(error)
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    thread.join(seconds)
    return result if not thread.is_alive() else "timed out"
def main(args):
    return run_with_timeout(lambda: 6 * 7, 5), run_with_timeout(lambda: 1 / 0, 5)
