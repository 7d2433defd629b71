import configparser, io
def main(args):
    c = configparser.ConfigParser()
    c.read_string("[db]\nhost = localhost\nport = 5432\nurl = %(host)s:%(port)s\n[x]\nflag = yes")
    o = io.StringIO(); c.write(o)
    return [c["db"]["url"], c.getboolean("x", "flag"), c.getint("db", "port"), o.getvalue()]
