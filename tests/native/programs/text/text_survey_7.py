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
    answers.append(attempt(lambda: locale.localeconv()['decimal_point']))
    answers.append(attempt(lambda: locale.strxfrm('a')))
    answers.append(attempt(lambda: locale.atof('1.5')))
    answers.append(attempt(lambda: locale.normalize('de_DE')))
    answers.append(attempt(lambda: locale.getencoding()))
    answers.append(attempt(lambda: locale.setlocale(locale.LC_ALL, 'de_DE.UTF-8')))
    answers.append(attempt(lambda: locale.setlocale(locale.LC_ALL, '')))
    answers.append(attempt(lambda: locale.currency(5)))
    return answers
