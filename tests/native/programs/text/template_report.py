# script
import string
import textwrap

from jinja2 import Environment, Template

items = [{"name": "Tea", "qty": 3, "price": 2.5}, {"name": "Coffee <dark>", "qty": 12, "price": 11}]
print(Template("{% for i in items %}{{ loop.index }}. {{ i.name|upper }} x{{ '%03d' % i.qty }} = {{ (i.qty*i.price)|round(2) }}\n{% endfor %}Total: {{ items|sum(attribute='qty') }}").render(items=items))
env = Environment(autoescape=True, trim_blocks=True)
print(env.from_string("{{ x }} {{ d|dictsort }} {{ l|join(', ') }} {{ u|default('none') }} {{ n|filesizeformat }}").render(x="<b>", d={"b": 1, "a": 2}, l=[1, 2], n=10**10))
print(string.Template("$who owes $$${amt}").safe_substitute(who="Bo"))
print(textwrap.fill("The quick brown fox jumps over the lazy dog " * 2, 30, initial_indent="* ", subsequent_indent="  "))
print(textwrap.dedent("""\
    a
      b
    """), end="")
print(textwrap.shorten("Hello wide world", 12), "tab\tstop".expandtabs(6), "%s %r %a" % ("é", "é", "é"))
print("{:>10}|{:^10}|{:<10}|{!r:>8}".format("r", "c", "l", "x"))
print(f"{'name':<10}{'qty':>6}")
for i in items:
    print(f"{i['name']:<10.6}{i['qty']:>6}{i['price']:>9.2f}")
print("-" * 25, sep="")
