from bs4 import BeautifulSoup
from lxml import etree, html
import io
import pandas as pd

PAGE = """<html><head><title> Shop &amp; Co </title></head><body><div class="item hot" data-id=7><a href="/p/1">One</a><span>€ 5</span></div><div class=item><a href='/p/2'>Two<br>x</a></div>
<table id=t><tr><th>n<th>v<tr><td>a<td>1,200<tr><td>b<td>3.5</table><script>var x = "<p>";</script></body></html>"""


def main(args):
    soup = BeautifulSoup(PAGE, "html.parser")
    lx = BeautifulSoup(PAGE, "lxml")
    h5 = BeautifulSoup(PAGE, "html5lib")
    t = pd.read_html(io.StringIO(PAGE))[0]
    doc = html.fromstring(PAGE)
    x = etree.XSLT(etree.XML('<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><o><xsl:value-of select="count(//a)"/></o></xsl:template></xsl:stylesheet>'))
    return {"title": soup.title.string.strip(), "links": [a["href"] for a in soup.select("div.item > a")], "cls": soup.div["class"], "id": soup.find(attrs={"data-id": True})["data-id"], "text": soup.find_all("a")[1].get_text("|"), "lx": lx.select_one("span").text, "h5": len(h5.find_all("td")),
            "t": t.to_dict("list"), "xp": doc.xpath("//a/text()"), "css": str(x(doc)).strip(), "pretty": soup.div.prettify(), "ser": etree.tostring(doc.find(".//span")).decode(), "sib": soup.span.find_next("a").text, "strip": list(h5.body.div.stripped_strings)}
