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
    answers.append(attempt(lambda: re.compile('*a')))
    answers.append(attempt(lambda: re.sub('a', r'\2', 'a')))
    answers.append(attempt(lambda: re.match('a', b'a')))
    answers.append(attempt(lambda: u.name('é')))
    answers.append(attempt(lambda: u.category('Ⅷ')))
    answers.append(attempt(lambda: u.normalize('NFKD', 'ﬁÅ')))
    answers.append(attempt(lambda: u.numeric('½')))
    answers.append(attempt(lambda: u.digit('٣')))
    answers.append(attempt(lambda: u.bidirectional('א')))
    answers.append(attempt(lambda: u.east_asian_width('日')))
    answers.append(attempt(lambda: u.combining('\u0301')))
    answers.append(attempt(lambda: u.lookup('SNOWMAN')))
    answers.append(attempt(lambda: u.decimal('5')))
    answers.append(attempt(lambda: u.mirrored('(')))
    answers.append(attempt(lambda: u.decomposition('é')))
    answers.append(attempt(lambda: u.is_normalized('NFC', 'é')))
    answers.append(attempt(lambda: 'ß'.upper()))
    answers.append(attempt(lambda: 'ẞ'.casefold()))
    answers.append(attempt(lambda: 'ǆ'.title()))
    answers.append(attempt(lambda: 'İ'.lower()))
    answers.append(attempt(lambda: 'Σας'.lower()))
    answers.append(attempt(lambda: 'ﬃ'.upper()))
    answers.append(attempt(lambda: 'é'.isidentifier()))
    answers.append(attempt(lambda: '²'.isdigit()))
    answers.append(attempt(lambda: '½'.isnumeric()))
    answers.append(attempt(lambda: '٣'.isdecimal()))
    answers.append(attempt(lambda: int('٣')))
    answers.append(attempt(lambda: 'a\x1cb\u2028c'.splitlines()))
    answers.append(attempt(lambda: ' \u3000x'.strip()))
    answers.append(attempt(lambda: 'a\tb'.expandtabs(4)))
    return answers
