import locale
import pathlib


def main(args):
    path = pathlib.Path("note.txt")
    path.write_text("naïve café, 東京\n", encoding="locale")
    with open(path, encoding="locale") as file:
        shown = [file.encoding, file.read()]
    with open(path, "a", encoding="locale") as file:
        file.write("Größe\n")
    locale.setlocale(locale.LC_ALL, "C")
    try:
        path.read_text(encoding="locale")
        kind = None
    except UnicodeDecodeError as error:
        kind = type(error).__name__
    locale.setlocale(locale.LC_ALL, "")
    return {
        "read": shown,
        "bytes": path.read_bytes().hex(),
        "ascii": kind,
        "again": path.read_text(encoding="locale"),
        "codeset": locale.nl_langinfo(locale.CODESET),
        "encoding": locale.getencoding(),
    }
