from lxml import etree, html
def main(args):
    t = etree.fromstring(b"<a><b c='1'>x</b><b c='2'>y</b></a>")
    d = html.fromstring("<p>Hello <b>you</b></p>")
    return [t.xpath("//b[@c>1]/text()"), etree.tostring(t, pretty_print=True).decode(), d.text_content()]
