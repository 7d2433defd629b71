import xml.etree.ElementTree as ET
def main(args):
    r = ET.fromstring("<r><i id='1'>a</i><i id='2'><b/>tail</i></r>")
    ET.SubElement(r, "n", k="v").text = "<&>"
    ET.indent(r)
    return [ET.tostring(r, encoding="unicode"), [e.get("id") for e in r.iter("i")], r.find("i[@id='2']/b").tail]
