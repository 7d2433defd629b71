import sched, time
def main(args):
    r, s = [], sched.scheduler(time.time, time.sleep)
    s.enter(0.02, 1, r.append, ("b",)); s.enter(0.01, 1, r.append, ("a",)); s.run()
    return r
