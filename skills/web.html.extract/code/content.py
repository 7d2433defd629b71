"""Decides which part of a page is its content, and how its elements read as one line."""

import re

import lxml.etree

from html_page import collapsed

BLOCKS = frozenset(
    """address article aside blockquote body center dd details div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre section summary table
    tbody td tfoot th thead tr ul""".split()
)
NEVER_CONTENT = frozenset(
    """script style noscript template svg canvas iframe object embed audio video head title meta
    link base input select option textarea button datalist map area""".split()
)
AROUND_CONTENT = frozenset(["nav", "header", "footer", "aside", "form", "dialog"])
ROLES_AROUND = frozenset(
    ["navigation", "banner", "contentinfo", "search", "complementary", "dialog", "menu", "menubar"]
)
CLASSES_AROUND = frozenset(
    """nav navbar navigation menu submenu mainmenu sidebar footer header breadcrumb breadcrumbs
    masthead toolbar social share sharing cookie cookies banner related pagination skip""".split()
)

# Classes are only hints; what they hint at is dropped if most of its text is links.
LINKS_SHARE = 0.5
# To know, all text below has to be read. Menus in menus must not make that slow: no more than
# this many times the page is read altogether.
READINGS_MOST = 10

# A `main` with less than this share of the page's text was put round something else.
MAIN_SHARE = 0.25

HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z]+")


class Content:
    """The part of a page that is read: `root`, without what `is_left_out` says."""

    def __init__(self, page_root, is_main_only):
        body = page_root.find(".//body")
        self._is_main_only = is_main_only
        self.root = page_root if body is None else body
        self._main = None
        if is_main_only:
            self._main = find_main(self.root)
            self.root = self.root if self._main is None else self._main
        self._letters_left = READINGS_MOST * text_length(self.root)

    def is_left_out(self, element):
        """Returns whether an element and all that is in it is not read."""
        if element.tag in NEVER_CONTENT or is_hidden(element):
            return True
        if not self._is_main_only or element is self.root:
            return False
        # A header inside the article is the article's.
        if element.tag in AROUND_CONTENT and (element.tag != "header" or self._main is None):
            return True
        return element.get("role") in ROLES_AROUND or self._is_navigation(element)

    def _is_navigation(self, element):
        names = f"{element.get('class') or ''} {element.get('id') or ''}"
        if not CLASSES_AROUND.intersection(word.lower() for word in WORD.findall(names)):
            return False
        if self._letters_left <= 0:
            return False
        whole = text_length(element)
        self._letters_left -= whole
        return sum(map(text_length, element.iter("a"))) >= LINKS_SHARE * whole


def find_main(body):
    """Returns the element that says it is the content, if it has enough of the text."""
    candidates = body.xpath(".//main | .//*[@role='main']") or body.xpath(".//article")
    candidates = [element for element in candidates[:20] if not is_hidden(element)]
    if not candidates:
        return None
    best = max(candidates, key=text_length)
    return best if text_length(best) >= MAIN_SHARE * text_length(body) else None


def is_hidden(element):
    """Returns whether a browser would not show an element, as far as the element itself says."""
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    style = element.get("style")
    return style is not None and HIDDEN_STYLE.search(style) is not None


def flat_text(element):
    """Returns the text of an element on one line, with spaces where its blocks meet."""
    parts = []
    walk = lxml.etree.iterwalk(element, events=("start", "end"))
    for event, node in walk:
        if node.tag in BLOCKS or node.tag == "br":
            parts.append(" ")
        if event == "end":
            parts.append(node.tail or "" if node is not element else "")
        elif node.tag in NEVER_CONTENT or is_hidden(node):
            walk.skip_subtree()
        else:
            parts.append(node.get("alt") or "" if node.tag == "img" else node.text or "")
    return collapsed("".join(parts))


def text_length(element):
    """Returns the number of letters in an element that are no spaces."""
    return sum(len(text) - text.count(" ") for text in element.itertext())
