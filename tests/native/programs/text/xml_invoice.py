import xml.etree.ElementTree as ET
from xml.dom import minidom

XML = """<?xml version="1.0" encoding="UTF-8"?>
<inv xmlns:c="urn:c" date="2024-05-01"><c:line qty="2" price="9.99">Blue &amp; red</c:line><c:line qty="10" price="0.5"/><note><![CDATA[<b>ok</b>]]></note></inv>"""


def main(args):
    root = ET.fromstring(XML)
    ns = {"c": "urn:c"}
    total = sum(int(e.get("qty")) * float(e.get("price")) for e in root.findall("c:line", ns))
    ET.SubElement(root, "total", currency="EUR").text = f"{total:.2f}"
    ET.indent(root)
    err = None
    try:
        ET.fromstring("<a><b></a>")
    except ET.ParseError as e:
        err = [str(e), e.position[0]]
    return {"total": total, "xml": ET.tostring(root, encoding="unicode"), "pretty": minidom.parseString(XML).toprettyxml(indent=" "), "err": err, "iter": [e.tag for e in root.iter()], "note": root.findtext("note"), "bytes": ET.tostring(ET.Element("é"), "us-ascii").decode(),
            "canon": ET.canonicalize('<a b="1" a="2"/>'), "xp": len(root.findall(".//*[@qty='2']"))}
