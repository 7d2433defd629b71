import html, urllib.parse as u
def main(args):
    return [html.escape("<a href='x'>"), html.unescape("&eacute;&#x41;"), u.quote("a b/ü?"), u.unquote("%C3%BC"), u.urlencode({"q": "x y", "n": [1, 2]}, doseq=True), list(u.urlparse("https://u:p@h:8/p;a?q=1#f")), u.parse_qs("a=1&a=2&b="), u.urljoin("http://a/b/c", "../d")]
