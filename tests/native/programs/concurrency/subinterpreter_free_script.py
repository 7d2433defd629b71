# script
import threading, time
def job(n):
    time.sleep(0.01)
    print(f"job {n} done")
threads = []
for n in range(3):
    t = threading.Thread(target=job, args=(n,))
    threads.append(t)
    t.start()
    t.join()
print("all done")
