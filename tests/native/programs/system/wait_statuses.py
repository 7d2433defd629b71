import os
def main(args):
    rows = []
    for status in (0, 256, 32512, 9, 15, 139, 0x137f):
        row = [os.WIFEXITED(status), os.WIFSIGNALED(status), os.WIFSTOPPED(status), os.WCOREDUMP(status)]
        try:
            row.append(os.waitstatus_to_exitcode(status))
        except ValueError as error:
            row.append(str(error))
        rows.append(row)
    return rows, os.WEXITSTATUS(32512), os.WTERMSIG(9), os.WNOHANG
