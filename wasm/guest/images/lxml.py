"""Markup: lxml and BeautifulSoup for XML and HTML."""

import bs4
import lxml.etree
import lxml.html


def use_lxml():
    """Parses, queries, changes and writes small documents."""
    root = lxml.etree.fromstring(b"<a><b c='1'>x</b><b c='2'/></a>")
    root.xpath("//b[@c='1']/text()")
    sheet = lxml.etree.fromstring(
        b'<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
        b'<xsl:template match="/"><r><xsl:value-of select="//b"/></r></xsl:template>'
        b"</xsl:stylesheet>"
    )
    lxml.etree.tostring(lxml.etree.XSLT(sheet)(root), pretty_print=True)
    page = "<html><body><p class='a'>x <a href='/y'>y</a></p><table><tr><td>1</table></body></html>"
    lxml.html.fromstring(page).xpath("//a/@href")
    for parser in ("html.parser", "lxml", "html5lib"):
        soup = bs4.BeautifulSoup(page, parser)
        soup.select("p.a > a"), soup.find_all("td"), soup.get_text(), str(soup)


use_lxml()
