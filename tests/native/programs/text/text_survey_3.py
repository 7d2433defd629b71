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
    answers.append(attempt(lambda: 'x'.ljust(3, '.')))
    answers.append(attempt(lambda: 'abc'.partition('b')))
    answers.append(attempt(lambda: 'abcabc'.rpartition('b')))
    answers.append(attempt(lambda: 'abc'.translate({97: 'X', 98: None})))
    answers.append(attempt(lambda: str.maketrans('ab', 'xy')))
    answers.append(attempt(lambda: 'hello world'.title()))
    answers.append(attempt(lambda: "they're".title()))
    answers.append(attempt(lambda: 'aBc'.swapcase()))
    answers.append(attempt(lambda: 'a,b,,c'.split(',')))
    answers.append(attempt(lambda: ' a  b '.split()))
    answers.append(attempt(lambda: 'a b c'.rsplit(' ', 1)))
    answers.append(attempt(lambda: 'abc'.removeprefix('a')))
    answers.append(attempt(lambda: 'x'.encode('utf-16')))
    answers.append(attempt(lambda: 'é'.encode('latin-1')))
    answers.append(attempt(lambda: 'é'.encode('ascii', 'xmlcharrefreplace')))
    answers.append(attempt(lambda: b'\xff\xfe'.decode('utf-8', 'replace')))
    answers.append(attempt(lambda: '日'.encode('shift_jis')))
    answers.append(attempt(lambda: '€'.encode('cp1252')))
    answers.append(attempt(lambda: b'\xe9'.decode('cp437')))
    answers.append(attempt(lambda: 'ü'.encode('idna')))
    answers.append(attempt(lambda: 'bücher'.encode('punycode')))
    answers.append(attempt(lambda: 'a\u0301' == 'á'))
    answers.append(attempt(lambda: '\N{BULLET}'))
    answers.append(attempt(lambda: len('👨‍👩‍👧')))
    answers.append(attempt(lambda: '👍🏽'[0]))
    answers.append(attempt(lambda: '\ud83d'.encode('utf-8', 'surrogatepass')))
    answers.append(attempt(lambda: 'abc'.center(10, '*')))
    answers.append(attempt(lambda: '%s' % None))
    answers.append(attempt(lambda: 'x'.zfill(5)))
    answers.append(attempt(lambda: '-5'.zfill(5)))
    return answers
