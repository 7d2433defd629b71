from email.message import EmailMessage
from email import message_from_string
def main(args):
    m = EmailMessage()
    m["Subject"] = "Grüße"; m["From"] = "a@x.org"; m["To"] = "b@y.org"
    m.set_content("Hallo\n")
    p = message_from_string(m.as_string())
    return [m.as_string(), p["Subject"], p.get_payload()]
