# refused: : network
import ftplib
ftplib.FTP("ftp.example.com")
