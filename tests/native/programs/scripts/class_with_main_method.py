# script
class App:
    def __init__(self):
        self.items = []

    def main(self):
        self.items.append("x")
        print("app", self.items)


App().main()
