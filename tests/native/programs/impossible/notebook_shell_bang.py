# refused: SyntaxError: no other program
!wget https://example.com/file.zip
!unzip file.zip
import pandas as pd
