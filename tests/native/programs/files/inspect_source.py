# refused: OSError: source
import inspect, textwrap
def main(args):
    return [inspect.getsource(textwrap.indent).splitlines()[0], inspect.signature(textwrap.fill).parameters["width"].default]
