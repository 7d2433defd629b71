import ast
import dis
import io
import keyword
import tokenize


def main(args):
    src = "def f(a, *, b=2):\n    '''doc'''\n    return a + b * 3 if a else [x for x in range(b)]\n"
    tree = ast.parse(src)
    toks = [(tokenize.tok_name[t.type], t.string) for t in tokenize.generate_tokens(io.StringIO(src).readline)][:8]
    names = sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)})
    ns = {}
    exec(compile(tree, "f.py", "exec"), ns)
    err = []
    for bad in ("x = = 1", "if True\n  pass", "print 'a'", "f(", "'abc", "  x", "a b"):
        try:
            compile(bad, "bad.py", "exec")
        except SyntaxError as e:
            err.append([type(e).__name__, e.msg, e.lineno])
    return {"toks": toks, "names": names, "unparse": ast.unparse(tree), "doc": ast.get_docstring(tree.body[0]), "call": ns["f"](1, b=5), "lit": ast.literal_eval("{'a': (1, 2.5, None)}"), "err": err, "kw": keyword.iskeyword("match"), "eval": eval("2**10 + sum(map(int, '123'))")}
