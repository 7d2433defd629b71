# refused: SyntaxError: pip
!pip install requests
import requests
