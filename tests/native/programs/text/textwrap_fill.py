import textwrap
def main(args):
    t = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor."
    return [textwrap.fill(t, 30), textwrap.shorten(t, 40), textwrap.dedent("   a\n     b\n"), textwrap.indent("x\ny", "> ")]
