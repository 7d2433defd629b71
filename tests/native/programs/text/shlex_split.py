import shlex, string
def main(args):
    return [shlex.split("a 'b c' \"d e\" f\\ g"), shlex.quote("it's"), string.Template("$a is ${b}").substitute(a=1, b=2), string.capwords("the end")]
