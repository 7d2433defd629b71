import locale
def main(args):
    try:
        locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        return "set"
    except locale.Error as e:
        return f"error: {e}"
