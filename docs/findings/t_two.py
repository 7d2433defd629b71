from h import *
import sys
s=S('two',9102,True)
W="def f(p='x'):\n    return input(p)\n"
def workers():
    out=subprocess.run(['ps','--ppid',str(s.pid()),'-o','pid=,rss='],capture_output=True,text=True).stdout.split('\n')
    return [tuple(map(int,l.split())) for l in out if l.strip()]
print('gateway rss',s.rss(),'workers',len(workers()))
def victim():
    r=s.run(W+"a=1\nf('name?')",who='bob'); return r['session']['id'],r['requests'][0]['id']
print('== A0: two large cells of alice against a held cell of bob, and his warm interpreter')
vi,q=victim(); w=s.run('w=1',who='bob')['session']['id']
al=[]
for n in range(2):
    r=s.run("x=b'x'*(300<<20)",who='alice',timeout_ms=60000); print(short(r.get('session')),r.get('status'),r.get('memory_peak_bytes')); al.append(r['session']['id'])
print('bob warm',s.req('GET',f'/v1/sessions/{w}',who='bob')[2]['is_warm'],'held is_warm',s.req('GET',f'/v1/sessions/{vi}',who='bob')[2]['is_warm'])
print('bob cells state',s.req('GET',f'/v1/sessions/{vi}/cells',who='bob')[2]['cells'][-1]['state'],'other call',short(s.run('1',vi,who='bob')))
print('bob answers:',short(s.run('',vi,who='bob',answers=[{'id':q,'output':'x'}]),500))
print('row',short(s.req('GET',f'/v1/sessions/{vi}/cells',who='bob')[2]['cells'][-1],300))
for x in al: s.req('DELETE',f'/v1/sessions/{x}')
print('== A: 64 ordinary sessions of alice against a held cell of bob')
vi,q=victim(); al=[]
t=time.time()
for n in range(64):
    r=s.run('1',who='alice')
    if 'session' not in r: print(n,short(r)); break
    al.append(r['session']['id'])
print('64 sessions in',round(time.time()-t,1),'workers',len(workers()))
d=s.req('GET',f'/v1/sessions/{vi}',who='bob')[2]; print('bob before answer: warm',d['is_warm'])
print('bob other call:',short(s.run('1',vi,who='bob')))
r=s.run('',vi,who='bob',answers=[{'id':q,'output':'x'}]); print('bob answers:',short(r,500))
print('row',short(s.req('GET',f'/v1/sessions/{vi}/cells',who='bob')[2]['cells'][-1],300))
for x in al: s.req('DELETE',f'/v1/sessions/{x}')
print('== B: held cells of alice against a held cell of bob')
vi,q=victim(); al=[]; t=time.time()
for n in range(40):
    r=s.run(W+"f()",who='alice'); 
    if 'session' not in r: print(n,short(r)); break
    al.append(r['session']['id'])
    if n%8==7: print(n+1,'held; workers',len(workers()),'sum rss MB',sum(w[1] for w in workers())//1024,round(time.time()-t,1))
r=s.run('',vi,who='bob',answers=[{'id':q,'output':'x'}]); print('bob answers:',short(r,500))
for x in al: s.req('DELETE',f'/v1/sessions/{x}')
print('== C: memory of the gateway for results of held cells')
g0=s.rss(); al=[]
D="import sys\nfor n in range(15): display('%s'*65000)\n"
code=W+"for part in range(14):\n    for n in range(15): display(chr(97+part)*65000)\n    f()\n"
t=time.time()
for n in range(12):
    r=s.req('POST','/v1/sessions',{'idle_ms':60000})[2]; i=r['id']
    r=s.run(code,i)
    for part in range(12):
        if r.get('status')!='waiting': print(short(r)); break
        r=s.run('',i,answers=[{'id':r['requests'][0]['id'],'output':''}])
    al.append(i)
    print(n,'gateway rss',s.rss(),'of',g0,round(time.time()-t,1),r.get('status'))
print('workers',len(workers()))
m=s.req('GET','/v1/sessions?limit=100')[2]; print(len(m['sessions']),m['usage'])
for x in al: s.req('DELETE',f'/v1/sessions/{x}')
time.sleep(1); print('after closing',s.rss())
s.stop(); print(open(s.dir+'/err').read()[-1500:])
