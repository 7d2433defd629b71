from h import *
s=S('last',9113,False,'workers.count=2')
W="def f(p='x'):\n    return input(p)\n"
print('== own cells of one tenant push out the own held cell'); r=s.run(W+"f()"); i=r['session']['id']; q=r['requests'][0]['id']
for n in range(64): s.run('1') if n<62 else None
print('two big'); 
r1=s.run("x=b'x'*(300<<20)",timeout_ms=60000); r2=s.run("x=b'x'*(300<<20)",timeout_ms=60000); print(r1.get('status'),r2.get('status'))
print(short(s.run('',i,answers=[{'id':q,'output':'1'}]),250))
for x in s.req('GET','/v1/sessions?limit=100')[2]['sessions']: s.req('DELETE','/v1/sessions/'+x['id'])
print('== packs of a session after the database is gone')
ids=[s.run('x=%d'%n)['session']['id'] for n in range(5)]; s.stop()
print('packs before',len([f for f in os.listdir(s.dir+'/data/sessions') if f.startswith('ses_')]))
import glob
for f in glob.glob(s.dir+'/data/sessions.db*'): os.rename(f,f.replace('/data/','/'))
n0=sum(1 for _ in open(s.dir+'/err')); s.start(); print('packs after',len([f for f in os.listdir(s.dir+'/data/sessions') if f.startswith('ses_')])); print([l[:160] for l in list(open(s.dir+'/err'))[n0:] if 'WARN' in l or 'ERROR' in l])
print('== answers in the queue, client leaves: parked')
r=s.run("print('one')\ny=await tools.t(a=1)\ny",tools=[{'name':'t'}]); i=r['session']['id']; q=r['requests'][0]['id']
busy=[bg(s.run,"while True: pass",None,timeout_ms=5000) for _ in range(2)]; time.sleep(1)
try: s.run('',i,answers=[{'id':q,'output':1}],timeout=1)
except Exception as e: print('left',repr(e))
time.sleep(.5); print('row',short(s.req('GET',f'/v1/sessions/{i}/cells')[2]['cells'][-1],250))
for b in busy: b['th'].join(20)
print('answer again',short(s.run('',i,answers=[{'id':q,'output':1}]),200))
s.stop()
