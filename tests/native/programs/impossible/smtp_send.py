# refused: OSError|gaierror: network
import smtplib
from email.message import EmailMessage

m = EmailMessage()
m["To"] = "a@b.c"
m.set_content("x")
with smtplib.SMTP("smtp.gmail.com", 587) as s:
    s.starttls()
    s.send_message(m)
