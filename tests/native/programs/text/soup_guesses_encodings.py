# BeautifulSoup guesses the encoding of bytes with the detector that is installed.
import bs4
from bs4.dammit import EncodingDetector, UnicodeDammit, chardet_module

TEXTS = {
    "shift_jis": "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。",
    "windows-1251": "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива.",
    "iso-8859-1": "Les élèves étaient très fâchés, où êtes-vous allés cet été ? Ça ne gêne personne.",
    "utf-8": "Größenänderung für Übergrößen, naïve café — déjà vu, smörgåsbord, żółć, 漢字",
    "big5": "人人生而自由,在尊嚴和權利上一律平等。他們賦有理性和良心,並應以兄弟關係的精神互相對待。",
    "utf-16": "plain text with a mark",
}


def main(args):
    found = {}
    for name, text in TEXTS.items():
        data = f"<p>{text}</p>".encode(name)
        soup = bs4.BeautifulSoup(data, "html.parser")
        guesses = list(EncodingDetector(data).encodings)
        found[name] = [soup.original_encoding, soup.p.get_text(), guesses]
    return {"found": found, "detector": chardet_module.__name__}
