# refused: ModuleNotFoundError: there are no ciphers
import pdfminer.pdfdocument
from cryptography.hazmat.primitives.ciphers import Cipher
