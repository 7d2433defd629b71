# refused: : args
import getpass

print(len(getpass.getpass("Password: ")))
