from datetime import datetime
def main(args):
    d = datetime(2026, 1, 5, 7, 8, 9, 123456)
    return d.strftime("%Y-%m-%d|%a %A|%b %B|%j|%U %W|%I:%M %p|%y|%f|%u %w|%G-W%V|%e|%D %T|%F %R|%%|%s")
