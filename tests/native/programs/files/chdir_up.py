import os
def main(args):
    os.makedirs("in/ner"); os.chdir("in/ner")
    a = os.getcwd(); os.chdir("..")
    return [a, os.getcwd(), os.path.abspath("x"), os.listdir(".")]
