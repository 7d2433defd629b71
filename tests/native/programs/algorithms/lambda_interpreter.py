# script
import operator as op
import re


def parse(src):
    toks = re.findall(r"[()]|[^\s()]+", src)
    def read():
        t = toks.pop(0)
        if t == "(":
            out = []
            while toks[0] != ")":
                out.append(read())
            toks.pop(0)
            return out
        try:
            return int(t)
        except ValueError:
            return t
    return read()


def ev(x, env):
    if isinstance(x, str):
        return env[x]
    if isinstance(x, int):
        return x
    if x[0] == "define":
        env[x[1]] = ev(x[2], env)
    elif x[0] == "if":
        return ev(x[2] if ev(x[1], env) else x[3], env)
    elif x[0] == "lambda":
        return lambda *a: ev(x[2], {**env, **env["__g"], **dict(zip(x[1], a))})
    else:
        f, *a = (ev(e, env) for e in x)
        return f(*a)


env = {"+": op.add, "*": op.mul, "-": op.sub, "<": op.lt}
env["__g"] = env
ev(parse("(define fact (lambda (n) (if (< n 2) 1 (* n (fact (- n 1))))))"), env)
print(ev(parse("(fact 25)"), env))
ev(parse("(define sum (lambda (n) (if (< n 1) 0 (+ n (sum (- n 1))))))"), env)
print(ev(parse("(sum 150)"), env))
print(ev(parse("(undefined 1)"), env))
