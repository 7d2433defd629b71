import configparser
import io
import json
import tomllib

import tomli_w
import xmltodict
import yaml


def main(args):
    c = configparser.ConfigParser()
    c.read_string("[DEFAULT]\nbase = /srv\n[web]\nport = 8080\nroot = %(base)s/www\ndebug = yes\nlist =\n  a\n  b\n")
    y = yaml.safe_load("a: 1\nb: [x, 2.5, true, null, 2024-01-02, 0o17, 1_000, 12:30:45, yes]\nc: &k {d: '01'}\ne: *k\nf: |\n  multi\n  line\n")
    t = tomllib.loads('title = "x"\nn = 9_223_372_036_854_775_807\nd = 2024-05-27T07:32:00Z\nf = 1e3\n[a.b]\nl = [1, 2]\n')
    buf = io.StringIO()
    c.write(buf)
    err = None
    try:
        yaml.safe_load("a: [1, 2\nb: 3")
    except yaml.YAMLError as e:
        err = str(e)
    return {"root": c["web"]["root"], "debug": c.getboolean("web", "debug"), "port": c.getint("web", "port"), "list": c["web"]["list"].split(), "y": json.loads(json.dumps(y, default=str)), "t": json.loads(json.dumps(t, default=str)), "dump": yaml.dump({"z": [1, {"a": None}], "b": "yes", "u": "é", "m": "l1\nl2"}),
            "flow": yaml.safe_dump([1, 2], default_flow_style=True), "toml": tomli_w.dumps({"a": {"b": [1, 2]}, "s": 'q"'}), "ini": buf.getvalue(), "err": err, "x": xmltodict.parse("<a><b>1</b><b>2</b></a>"), "ux": xmltodict.unparse({"r": {"@id": "1", "#text": "t"}})}
