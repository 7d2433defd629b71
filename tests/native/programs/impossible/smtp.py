# refused: : network
import smtplib
smtplib.SMTP("localhost", 25)
