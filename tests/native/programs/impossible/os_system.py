# refused: completed: no other program
import os
os.system("curl -s https://example.com -o page.html")
