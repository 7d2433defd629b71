import re


def main(args):
    md = """# Title
Intro *text* with `code`.

## First & second
- a
  - b
1. one

```python
# not a heading
```
## Über uns
| a | b |
|---|--:|
| 1 | 2 |
"""
    fence = False
    heads = []
    for line in md.splitlines():
        if line.startswith("```"):
            fence = not fence
        m = re.match(r"^(#{1,6})\s+(.*)$", line)
        if m and not fence:
            anchor = re.sub(r"[^\w\s-]", "", m[2].lower()).strip().replace(" ", "-")
            heads.append((len(m[1]), m[2], anchor))
    html = re.sub(r"\*(.+?)\*", r"<em>\1</em>", md)
    html = re.sub(r"`(.+?)`", r"<code>\1</code>", html)
    table = [[c.strip() for c in row.strip("|").split("|")] for row in md.splitlines() if row.startswith("|")]
    return {"heads": heads, "em": html.count("<em>"), "table": table, "words": len(re.findall(r"\b\w+\b", md)), "lines": md.count("\n"), "part": md.partition("\n"), "rsplit": "a.b.c".rsplit(".", 1), "keep": "a\r\nb\x0bc\x85d\u2028e".splitlines(True)}
