import re, unicodedata as u, textwrap, string, difflib, locale, codecs, html, urllib.parse as up, base64, binascii, quopri


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    answers.append(attempt(lambda: 'a'.isprintable()))
    answers.append(attempt(lambda: '\u200b'.isprintable()))
    answers.append(attempt(lambda: 'Hello'.isupper()))
    answers.append(attempt(lambda: ''.isalpha()))
    answers.append(attempt(lambda: 'aé'.isascii()))
    answers.append(attempt(lambda: 'ab'.join('123')))
    answers.append(attempt(lambda: 'abc' > 'abd'))
    answers.append(attempt(lambda: 'aXbX'.replace('X', '', 1)))
    answers.append(attempt(lambda: 'abcb'.rfind('b')))
    answers.append(attempt(lambda: 'ab'.index('b')))
    answers.append(attempt(lambda: 'aaa'.count('aa')))
    answers.append(attempt(lambda: 'a-b_c'.split('-')))
    answers.append(attempt(lambda: 'abc'.startswith(('x', 'a'))))
    answers.append(attempt(lambda: '\x41\u0042'))
    answers.append(attempt(lambda: r'\n'))
    answers.append(attempt(lambda: 'tab\there'.expandtabs()))
    answers.append(attempt(lambda: 'é'.encode('ascii')))
    answers.append(attempt(lambda: b'\xff'.decode()))
    answers.append(attempt(lambda: 'a'.index('z')))
    answers.append(attempt(lambda: '\ud800'.encode()))
    answers.append(attempt(lambda: textwrap.wrap('The quick brown fox jumps over the lazy dog', 15)))
    answers.append(attempt(lambda: textwrap.fill('a b c d e f', 5, initial_indent='* ')))
    answers.append(attempt(lambda: textwrap.dedent('  a\n    b\n')))
    answers.append(attempt(lambda: textwrap.indent('a\n\nb', '> ')))
    answers.append(attempt(lambda: textwrap.shorten('hello big world', 11)))
    answers.append(attempt(lambda: textwrap.TextWrapper(width=10, break_long_words=False).wrap('abcdefghijklmnop qrs')))
    answers.append(attempt(lambda: string.Template('$a ${b} $$').substitute(a=1, b=2)))
    answers.append(attempt(lambda: string.Template('$x').safe_substitute()))
    answers.append(attempt(lambda: string.capwords('a b-c')))
    answers.append(attempt(lambda: string.punctuation))
    return answers
