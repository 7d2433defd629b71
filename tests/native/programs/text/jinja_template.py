from jinja2 import Template, Environment, StrictUndefined
def main(args):
    t = Template("{% for u in users if u.age > 30 %}{{ loop.index }}. {{ u.name|upper }}\n{% endfor %}{{ total|round(2) }}")
    return t.render(users=[{"name": "Ada", "age": 36}, {"name": "Bob", "age": 20}, {"name": "Cy", "age": 55}], total=3.14159)
