# refused: FileNotFoundError: 
print(open("/home/user/data.csv").read())
