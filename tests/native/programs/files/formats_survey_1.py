import json, pickle, csv, io, configparser, tomllib, xml.etree.ElementTree as ET, xml.dom.minidom as md, shelve, dbm, sqlite3, zipfile, tarfile, gzip, bz2, lzma, marshal, plistlib, os, datetime as dt, decimal, collections, email.message, email, mailbox, html.parser, ast, textwrap, pathlib, zlib


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
    answers.append(attempt(lambda: json.dumps({'a': [1, 2.5, None, True, 'é\u2028"'], 'b': {}})))
    answers.append(attempt(lambda: json.dumps({'b': 1, 'a': 2}, sort_keys=True, indent=2)))
    answers.append(attempt(lambda: json.dumps('é', ensure_ascii=False)))
    answers.append(attempt(lambda: json.dumps([1, 2], separators=(',', ':'))))
    answers.append(attempt(lambda: json.dumps(float('nan'))))
    answers.append(attempt(lambda: json.loads('[1e400, -0, 1E5, NaN]')))
    answers.append(attempt(lambda: json.dumps({1: 'a', None: 'b', True: 'c', 1.5: 'd'})))
    answers.append(attempt(lambda: json.loads('{"a": 1, "a": 2}')))
    answers.append(attempt(lambda: json.dumps(10**30)))
    answers.append(attempt(lambda: json.loads('1' * 30)))
    answers.append(attempt(lambda: json.loads('"\\ud83d\\ude00"')))
    answers.append(attempt(lambda: json.dumps(1e100)))
    answers.append(attempt(lambda: json.dumps(0.1+0.2)))
    answers.append(attempt(lambda: json.loads('[]', parse_float=decimal.Decimal)))
    answers.append(attempt(lambda: json.loads('1.1', parse_float=decimal.Decimal)))
    answers.append(attempt(lambda: json.dumps({'a': 1}, indent='\t')))
    answers.append(attempt(lambda: json.dumps((1, 2))))
    answers.append(attempt(lambda: json.dumps(dt.date(2024, 1, 1), default=str)))
    answers.append(attempt(lambda: json.loads(b'\xef\xbb\xbf1'.decode('utf-8-sig'))))
    answers.append(attempt(lambda: json.JSONDecoder().raw_decode('1 x')))
    answers.append(attempt(lambda: json.dumps({1, 2})))
    answers.append(attempt(lambda: json.dumps(float('nan'), allow_nan=False)))
    answers.append(attempt(lambda: json.loads('{a: 1}')))
    answers.append(attempt(lambda: json.loads('')))
    answers.append(attempt(lambda: json.loads('[1,]')))
    answers.append(attempt(lambda: json.loads("{'a': 1}")))
    answers.append(attempt(lambda: json.loads('[1 2]')))
    answers.append(attempt(lambda: json.dumps({(1, 2): 3})))
    answers.append(attempt(lambda: json.loads('"\n"')))
    answers.append(attempt(lambda: pickle.loads(pickle.dumps([1, {2: (3, {4})}, b'x', 2**100, 1.5, None, dt.datetime(2024, 1, 1), decimal.Decimal('1.1'), collections.OrderedDict(a=1), range(3), slice(1, 2), complex(1, 2), frozenset([1]), bytearray(b'a')]))))
    def wr(rows, **k):
        b = io.StringIO(); csv.writer(b, **k).writerows(rows); return b.getvalue()
    cp = configparser.ConfigParser(); cp.read_string('[DEFAULT]\nx=1\n[a]\ny=%(x)s2\nz: on\n[b]\nlist=1,\n  2\n')
    r = ET.fromstring('<r a="1"><b>t</b>tail<c/><b x="é"/></r>')
    with shelve.open('sh') as s: s['k'] = [1, 2]
    with shelve.open('sh') as s: s['j'] = {'a': 1}
    con = sqlite3.connect('a.db'); con.execute('create table t(a integer primary key, b text, c real, d blob)')
    con.executemany('insert into t(b,c,d) values(?,?,?)', [('x', 1.5, b'\0'), ('é', None, None), (2**40, 3, 'y')])
    con.create_function('dbl', 1, lambda x: x*2); con.row_factory = sqlite3.Row
    with zipfile.ZipFile('z.zip', 'w', zipfile.ZIP_DEFLATED) as z:
        z.writestr('a/b.txt', 'hi'*50); z.writestr(zipfile.ZipInfo('c', (2020, 1, 1, 0, 0, 0)), b'x')
    os.makedirs('d/e', exist_ok=True); pathlib.Path('d/e/f.txt').write_text('abc')
    with tarfile.open('t.tar.gz', 'w:gz') as tf: tf.add('d')
    m = email.message.EmailMessage(); m['Subject'] = 'Hé'; m['To'] = 'a@b.c'; m.set_content('Ünï'); m.add_attachment(b'\0\1', maintype='a', subtype='b', filename='x.bin')
    return answers
