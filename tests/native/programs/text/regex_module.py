import regex
def main(args):
    return [regex.findall(r"\p{Lu}\p{Ll}+", "Ärger Über und Öl"), regex.sub(r"(?i)straße", "x", "STRASSE Straße"), bool(regex.fullmatch(r"(?:cats|dogs){e<=1}", "cat"))]
