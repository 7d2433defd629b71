# refused: SyntaxError: installed
!pip install requests
import requests
