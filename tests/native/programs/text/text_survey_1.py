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
    answers.append(attempt(lambda: re.findall(r'(\w+)@(\w+)\.com', 'a@b.com c@d.com')))
    answers.append(attempt(lambda: re.sub(r'(?P<x>\d+)', lambda m: str(int(m['x'])*2), 'a1b22')))
    answers.append(attempt(lambda: re.split(r'[,;]\s*', 'a, b;c')))
    answers.append(attempt(lambda: re.match(r'(a)(b)?', 'a').groups()))
    answers.append(attempt(lambda: re.fullmatch(r'\d{3}', '123').span()))
    answers.append(attempt(lambda: re.compile('a', re.I).flags))
    answers.append(attempt(lambda: re.escape('a.b*c')))
    answers.append(attempt(lambda: re.sub(r'\b(\w)', lambda m: m[1].upper(), 'hello world')))
    answers.append(attempt(lambda: re.findall(r'(?<=\$)\d+', '$5 $60')))
    answers.append(attempt(lambda: re.search(r'(?s)a.b', 'a\nb')[0]))
    answers.append(attempt(lambda: re.findall(r'(?i)straße|ß', 'STRASSE ß')))
    answers.append(attempt(lambda: re.subn('a', 'b', 'aaa', count=2)))
    answers.append(attempt(lambda: [m.start() for m in re.finditer('a', 'banana')]))
    answers.append(attempt(lambda: re.sub(r'(a)|b', r'[\1]', 'ab')))
    answers.append(attempt(lambda: re.findall(r'\w+', 'naïve café 日本')))
    answers.append(attempt(lambda: re.findall(r'\w+', 'naïve', re.A)))
    answers.append(attempt(lambda: re.split('(-)', 'a-b')))
    answers.append(attempt(lambda: re.match(r'(?>a+)b', 'aab')[0]))
    answers.append(attempt(lambda: re.match(r'a++b', 'aab')[0]))
    answers.append(attempt(lambda: re.findall(r'^\w', 'a\nb', re.M)))
    answers.append(attempt(lambda: re.sub(r'\s+', ' ', 'a \u00a0\t b')))
    answers.append(attempt(lambda: re.search(r'(\d+)(?!px)', '12px').group()))
    answers.append(attempt(lambda: re.compile(r'(?x) a  # c').match('a').end()))
    answers.append(attempt(lambda: re.sub('x*', '-', 'abxd')))
    answers.append(attempt(lambda: repr(re.compile('a|b', re.M|re.I))))
    answers.append(attempt(lambda: re.match('(.)(.)', 'ab').expand(r'\2\1')))
    answers.append(attempt(lambda: re.findall(r'[\u4e00-\u9fff]', 'a漢b')))
    answers.append(attempt(lambda: re.sub(r'(?<!\d)0+', '', '007 1007')))
    answers.append(attempt(lambda: re.compile('(')))
    answers.append(attempt(lambda: re.compile('[z-a]')))
    return answers
