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
    answers.append(attempt(lambda: pickle.dumps([1, 'a', 2**40], 0)))
    answers.append(attempt(lambda: pickle.dumps({'a': 1.5}, 2)))
    answers.append(attempt(lambda: pickle.dumps((1, b'x'), 5)))
    answers.append(attempt(lambda: pickle.dumps(2**70, 4)))
    answers.append(attempt(lambda: pickle.HIGHEST_PROTOCOL))
    answers.append(attempt(lambda: marshal.loads(marshal.dumps([1, 2**70, 'a']))))
    answers.append(attempt(lambda: pickle.loads(b'x')))
    answers.append(attempt(lambda: pickle.loads(b'')))
    answers.append(attempt(lambda: pickle.dumps(open('/dev/null'))))
    answers.append(attempt(lambda: list(csv.reader(['a,"b ""q"", c",d', '1,,3']))))
    answers.append(attempt(lambda: list(csv.DictReader(['a,b', '1,2', '3']))))
    answers.append(attempt(lambda: csv.Sniffer().sniff('a;b\n1;2').delimiter))
    answers.append(attempt(lambda: csv.Sniffer().has_header('n,v\na,1\nb,2')))
    answers.append(attempt(lambda: list(csv.reader(['a\tb'], dialect='excel-tab'))))
    answers.append(attempt(lambda: list(csv.reader(["1,'a,b'"], quotechar="'"))))
    answers.append(attempt(lambda: list(csv.reader(['"1",2'], quoting=csv.QUOTE_NONNUMERIC))))
    answers.append(attempt(lambda: csv.field_size_limit()))
    answers.append(attempt(lambda: csv.list_dialects()))
    def wr(rows, **k):
        b = io.StringIO(); csv.writer(b, **k).writerows(rows); return b.getvalue()
    answers.append(attempt(lambda: wr([[1, 'a,b', None, 1.5, 'q"x', 'l\nm']])))
    answers.append(attempt(lambda: wr([[1, 'a']], quoting=csv.QUOTE_ALL, lineterminator='\n')))
    answers.append(attempt(lambda: wr([['a b', 2]], quoting=csv.QUOTE_NONNUMERIC)))
    answers.append(attempt(lambda: wr([['a', 1]], delimiter='|')))
    answers.append(attempt(lambda: wr([[]])))
    answers.append(attempt(lambda: wr([['']])))
    answers.append(attempt(lambda: wr([['a,b']], quoting=csv.QUOTE_NONE, escapechar='\\')))
    answers.append(attempt(lambda: wr([[None, 'x']], quoting=csv.QUOTE_STRINGS)))
    answers.append(attempt(lambda: wr([[None, 'x']], quoting=csv.QUOTE_NOTNULL)))
    answers.append(attempt(lambda: wr([['a,b']], quoting=csv.QUOTE_NONE)))
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
