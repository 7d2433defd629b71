from h import *
s=S('guests',9107,True,'workers.count=2')
def children():
    out=subprocess.run(['ps','--ppid',str(s.pid()),'-o','pid=,rss=,args='],capture_output=True,text=True).stdout
    return [l.split(None,2) for l in out.strip().split('\n') if l.strip()]
ids=[]
for n in range(12):
    r=s.run(f"v={n}\nimport os"); ids.append(r['session']['id'])
print('workers',[(c[0],int(c[1])//1024) for c in children()])
def warm(): return [s.req('GET',f'/v1/sessions/{i}')[2]['is_warm'] for i in ids]
print('warm',warm())
def check(t):
    vals=[]
    for n,i in enumerate(ids[4:],4):
        r=s.run('v',i); o=r.get('output'); vals.append((o['result'] if isinstance(o,dict) else o)==n)
    print(t,'all others right:',all(vals),'warm',sum(warm()))
r=s.run("l=[]\nwhile True: l.append(bytearray(10<<20))",ids[0]); print('memory',r.get('status'),short(r.get('error'),200),r.get('session')); check('after OOM')
r=s.run("def g(n): return g(n+1)\nimport sys; sys.setrecursionlimit(10**7)\ng(0)",ids[1]); print('stack',r.get('status'),short(r.get('error'),200),r.get('session')); check('after stack')
r=s.run("import ctypes",ids[1]); print(short(r.get('error'),100))
t=time.time(); r=s.run("while True:\n  try:\n    while True: pass\n  except BaseException: pass",ids[2],timeout_ms=1500); print('endless',r.get('status'),short(r.get('error'),200),r.get('session'),round(time.time()-t,1)); check('after endless')
b=bg(s.run,"import time\ntime.sleep(20)",ids[3],timeout_ms=25000); time.sleep(1); c=bg(s.run,'v',ids[5]); c['th'].join(10); print('another session of the same worker while one sleeps:',short(c.get('r'),100),c.get('t')); print('interrupt',s.req('POST',f'/v1/sessions/{ids[3]}/interrupt')[2]); b['th'].join(10); print(short(b.get('r'),300)); check('after interrupt')
# crash of the worker process
for cpid,rss,args in children(): print(cpid,int(rss)//1024,args[:60])
b=bg(s.run,"import time\ntime.sleep(8)",ids[3],timeout_ms=25000); time.sleep(1)
for cpid,rss,args in children():
    st=open(f'/proc/{cpid}/limits').read(); print(cpid,[l for l in st.split('\n') if 'data size' in l or 'address space' in l]); break
for cpid,rss,args in children():
    if int(rss)>0: 
        try: os.kill(int(cpid),9)
        except OSError: pass
b['th'].join(20); print('killed',short(b.get('r'),500)); check('after kill')
print('== bob: 2 tenants in one worker?')
rb=s.run("v='bob'",who='bob'); print(short(rb,150)); 
print('foreign:',short(s.run('v',ids[0],who='bob')),s.req('GET',f'/v1/sessions/{ids[0]}/files',who='bob')[0],s.req('PUT',f'/v1/sessions/{ids[0]}/files/x',b'1',who='bob')[0],s.req('POST',f'/v1/sessions/{ids[0]}/interrupt',who='bob')[0],s.req('GET',f'/v1/sessions/{ids[0]}/notebook',who='bob')[0],short(s.run('',ids[0],who='bob',answers=[])),short(s.run('',ids[0],who='bob',abandon=True)))
print('== fake heap')
r=s.run("""
import sys
x=[bytes([n%256])*20000 for n in range(300)]
del x
1""",ids[6]); print(short(r,150))
print('== many resumes: big frees'); r=s.run("a=[os.urandom(1<<16) for _ in range(1000)]; del a[::2]; 1",ids[7]); print(short(r,120)); d=s.req('GET',f'/v1/sessions/{ids[7]}')[2]; print(d['parked_own_bytes'],[c['bytes'] for c in d['checkpoints']]); r=s.run("del a; 1",ids[7]); d=s.req('GET',f'/v1/sessions/{ids[7]}')[2]; print([c['bytes'] for c in d['checkpoints']])
print('== 64 sessions of bob run while alice (12) has memory 400 MB each: eviction, speed')
s.stop(); print(open(s.dir+'/err').read()[-1500:])
