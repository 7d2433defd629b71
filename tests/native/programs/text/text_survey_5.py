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
    answers.append(attempt(lambda: string.Formatter().format('{0}', 1)))
    answers.append(attempt(lambda: string.whitespace))
    answers.append(attempt(lambda: string.ascii_letters))
    answers.append(attempt(lambda: string.Template('$x').substitute()))
    answers.append(attempt(lambda: list(difflib.unified_diff('a\nb\nc'.split(), 'a\nx\nc'.split(), lineterm=''))))
    answers.append(attempt(lambda: list(difflib.ndiff(['a'], ['b']))))
    answers.append(attempt(lambda: difflib.get_close_matches('appel', ['ape', 'apple', 'peach'])))
    answers.append(attempt(lambda: difflib.SequenceMatcher(None, 'abcd', 'bcde').ratio()))
    answers.append(attempt(lambda: difflib.SequenceMatcher(None, 'abcd', 'bcde').get_opcodes()))
    answers.append(attempt(lambda: list(difflib.context_diff(['a'], ['b'], 'f', 't', lineterm=''))))
    answers.append(attempt(lambda: difflib.HtmlDiff().make_table(['a'], ['b'])[:100]))
    answers.append(attempt(lambda: html.escape('<a href="x">\'&')))
    answers.append(attempt(lambda: html.unescape('&lt;&eacute;&#x1F600;&amp;nbsp;&notit;')))
    answers.append(attempt(lambda: up.quote('a b/é?')))
    answers.append(attempt(lambda: up.quote_plus('a b&c')))
    answers.append(attempt(lambda: up.unquote('%E9%A6', errors='replace')))
    answers.append(attempt(lambda: up.urlencode({'a': [1, 2], 'b': 'ü'}, doseq=True)))
    answers.append(attempt(lambda: up.parse_qs('a=1&a=2&b=')))
    answers.append(attempt(lambda: up.urlparse('http://u:p@h:80/p;x?q=1#f')))
    answers.append(attempt(lambda: up.urljoin('http://a/b/c', '../d')))
    answers.append(attempt(lambda: up.urlsplit('//x/y').netloc))
    answers.append(attempt(lambda: up.parse_qsl('a=1;b=2')))
    answers.append(attempt(lambda: up.urlunsplit(('http', 'h', '/p', 'q', ''))))
    answers.append(attempt(lambda: base64.b64encode(b'\xff\xfe')))
    answers.append(attempt(lambda: base64.urlsafe_b64encode(b'\xff\xfe')))
    answers.append(attempt(lambda: base64.b32encode(b'ab')))
    answers.append(attempt(lambda: base64.b85encode(b'abcd')))
    answers.append(attempt(lambda: base64.a85encode(b'abcd')))
    answers.append(attempt(lambda: base64.b64decode('YQ==')))
    answers.append(attempt(lambda: base64.b16decode('FF')))
    return answers
