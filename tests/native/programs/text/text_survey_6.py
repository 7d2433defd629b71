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
    answers.append(attempt(lambda: binascii.hexlify(b'ab', '-')))
    answers.append(attempt(lambda: binascii.crc32(b'abc')))
    answers.append(attempt(lambda: binascii.crc_hqx(b'a', 0)))
    answers.append(attempt(lambda: quopri.encodestring('é='.encode())))
    answers.append(attempt(lambda: binascii.b2a_uu(b'abc')))
    answers.append(attempt(lambda: base64.b32hexencode(b'ab')))
    answers.append(attempt(lambda: base64.z85encode(b'abcd')))
    answers.append(attempt(lambda: base64.b64decode('abc')))
    answers.append(attempt(lambda: codecs.encode('abc', 'rot13')))
    answers.append(attempt(lambda: codecs.decode(b'YWJj', 'base64')))
    answers.append(attempt(lambda: codecs.BOM_UTF8))
    answers.append(attempt(lambda: codecs.lookup('utf8').name))
    answers.append(attempt(lambda: codecs.encode(b'ab', 'hex')))
    answers.append(attempt(lambda: codecs.encode(b'aaaa', 'zlib')[:2]))
    answers.append(attempt(lambda: codecs.getincrementaldecoder('utf-8')().decode(b'\xc3')))
    answers.append(attempt(lambda: codecs.escape_decode(b'\\n')))
    answers.append(attempt(lambda: 'a\\u0041'.encode().decode('unicode_escape')))
    answers.append(attempt(lambda: [codecs.lookup(e).name for e in ['latin1', 'cp850', 'gb18030', 'big5', 'euc_jp', 'koi8-r', 'utf-16-le', 'utf_7', 'mac_roman', 'iso2022_jp', 'hz', 'cp949', 'johab', 'tis-620']]))
    answers.append(attempt(lambda: codecs.lookup('nope')))
    answers.append(attempt(lambda: '汉字'.encode('gb18030')))
    answers.append(attempt(lambda: '漢'.encode('big5')))
    answers.append(attempt(lambda: '한'.encode('euc-kr')))
    answers.append(attempt(lambda: 'Я'.encode('koi8-r')))
    answers.append(attempt(lambda: 'a漢'.encode('iso2022_jp')))
    answers.append(attempt(lambda: 'é'.encode('utf-7')))
    answers.append(attempt(lambda: 'é'.encode('mac_roman')))
    answers.append(attempt(lambda: '日本'.encode('utf-32-be')))
    answers.append(attempt(lambda: 'テ'.encode('euc_jis_2004')))
    answers.append(attempt(lambda: locale.getlocale()))
    answers.append(attempt(lambda: locale.format_string('%.2f', 1234.5, grouping=True)))
    return answers
