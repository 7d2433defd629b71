import mechanize
from pyquery import PyQuery


def main(args):
    text = "<html><body><p class='a'>one</p><p>two</p><a href='/x'>link</a><form action='/go' method='post'><input name='q' value='1'><select name='s'><option value='u'>U<option value='v' selected>V</select><input type='submit'></form></body></html>"
    page = PyQuery(text)
    browser = mechanize.Browser()
    browser.set_response(mechanize.make_response(text.encode(), [("Content-Type", "text/html")], "http://example.org/d/", 200, "OK"))
    browser.select_form(nr=0)
    browser["q"] = "a b"
    request = browser.form.click()
    return [
        page("p.a").text(), [item.text for item in page("p")], page("a").attr("href"),
        page("p").eq(1).add_class("z").outer_html(), [link.absolute_url for link in browser.links()],
        request.get_full_url(), request.data if isinstance(request.data, str) else request.data.decode(),
    ]
