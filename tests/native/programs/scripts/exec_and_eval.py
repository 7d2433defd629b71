# script
ns = {}
exec("def f(x):\n    return x + 1", ns)
print(ns["f"](1), eval("2 ** 10"), compile("1+1", "<s>", "eval").co_filename)
