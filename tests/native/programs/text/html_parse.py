from bs4 import BeautifulSoup
def main(args):
    h = "<html><body><h1 id=t>Hi</h1><ul><li class='x'>A &amp; B</li><li>C</li></ul><a href='/u?q=1&z=2'>l</a></body></html>"
    s = BeautifulSoup(h, "html.parser")
    return [s.h1["id"], [li.get_text() for li in s.find_all("li")], s.select_one("a")["href"], s.select("li.x")[0].text, s.prettify()]
