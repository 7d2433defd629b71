# refused: OSError|gaierror|ModuleNotFoundError|ImportError: network
from ftplib import FTP

FTP("ftp.example.com").login()
