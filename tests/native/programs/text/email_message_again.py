from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import formataddr, parseaddr, parsedate_to_datetime
import mimetypes


def main(args):
    m = EmailMessage()
    m["Subject"] = "Grüße — test"
    m["From"] = formataddr(("Jörg", "j@x.org"))
    m["To"] = "a@b.c, d@e.f"
    m["Date"] = "Mon, 20 Nov 1995 19:12:08 -0500"
    m.set_content("Hallo\nWelt é\n")
    m.add_alternative("<p>Hi</p>", subtype="html")
    m.add_attachment(b"\0\1", maintype="application", subtype="octet-stream", filename="b.bin")
    m.set_boundary("BOUND")
    for i, part in enumerate(m.walk()):
        if part.is_multipart():
            part.set_boundary(f"B{i}")
    raw = m.as_bytes()
    p = BytesParser(policy=policy.default).parsebytes(raw)
    return {"raw": raw.decode(), "sub": str(p["subject"]), "to": [a.addr_spec for a in p["to"].addresses], "body": p.get_body(("plain",)).get_content(), "att": [(a.get_filename(), a.get_content().hex()) for a in p.iter_attachments()], "date": parsedate_to_datetime(m["Date"]).isoformat(), "pa": parseaddr("X <a@b>"), "mt": [mimetypes.guess_type(f)[0] for f in ("a.csv", "a.json", "b.py", "c.xlsx", "d.webp", "e.md", "f.parquet", "g.tar.gz")]}
