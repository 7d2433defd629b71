import locale
import os


def main(args):
    with open("note.txt", "w", encoding=locale.getencoding()) as file:
        file.write("süß\n")
    with open("note.txt", encoding=locale.getpreferredencoding()) as file:
        text = file.read()
    try:
        os.waitpid(-1, 0)
    except ChildProcessError as error:
        children = str(error)
    return {"encoding": locale.getencoding(), "text": text, "children": children}
