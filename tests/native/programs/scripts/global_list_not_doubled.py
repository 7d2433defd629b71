# script
log = []
def main():
    log.append("run")
    print(len(log))
main()
print(log)
