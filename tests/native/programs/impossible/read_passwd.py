# refused: FileNotFoundError: /etc/passwd
print(open("/etc/passwd").read())
