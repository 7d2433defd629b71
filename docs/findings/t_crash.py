from h import *
import random, glob
s=S('crash',9105,False,'workers.count=2')
print('== kill -9 at random moments')
r=s.run("n=0"); i=r['session']['id']; exp=0; cpt=r['session']['checkpoint']; bad=0
for round_ in range(6):
    end=time.time()+random.uniform(.3,1.2); last=None
    stop=[False]
    def loop():
        global last_ok
        while not stop[0]:
            try:
                r=s.run(f"n+=1\npad=bytes({random.randint(0,3)}<<18)\nn",i,timeout=10)
                if r.get('session',{}).get('state')=='kept': last_ok=(r['output']['result'] if isinstance(r['output'],dict) else r['output'],r['session']['checkpoint'])
                elif 'error' in r: time.sleep(.05)
            except Exception: return
    last_ok=None
    th=threading.Thread(target=loop,daemon=True); th.start(); time.sleep(max(.3,end-time.time())); s.kill(); stop[0]=True; th.join(5)
    s.start(); d=s.req('GET',f'/v1/sessions/{i}')[2]; r=s.run("n",i)
    got=r.get('output'); got=got['result'] if isinstance(got,dict) else got
    print(round_,'last answered',last_ok,'server at',d.get('checkpoint'),'n =',got,short(r.get('error')))
print('== kill -9 while a cell waits (parked) and one is held')
r=s.run("y=await tools.t(a=1)\ny",i,tools=[{'name':'t'}]); q=r['requests'][0]['id']
r2=s.run("def f():\n    return input('x')\nf()"); i2=r2['session']['id']; q2=r2['requests'][0]['id']
s.kill(); s.start()
print('parked answered',short(s.run('',i,answers=[{'id':q,'output':5}]),250))
print('held answered',short(s.run('',i2,answers=[{'id':q2,'output':'5'}]),400)); print('row',short(s.req('GET',f'/v1/sessions/{i2}/cells')[2]))
print('== damaged, torn and missing packs')
for what in ('remove','truncate','flip'):
    r=s.run("n=5"); j=r['session']['id']; c1=r['session']['checkpoint']; r=s.run("n=6",j); c2=r['session']['checkpoint']; time.sleep(1.2); s.stop()
    f=s.dir+f'/data/sessions/{j}.{c2}'
    if what=='remove': os.remove(f)
    elif what=='truncate': os.truncate(f,os.path.getsize(f)//2)
    else:
        b=bytearray(open(f,'rb').read()); b[len(b)//2]^=1; open(f,'wb').write(b)
    s.start(); r=s.run("n",j); print(what,short(r,400)); x=s.req('GET',f'/v1/sessions/{j}/files'); print('  files',x[0],short(x[2],200))
    x=s.req('PUT',f'/v1/sessions/{j}/files/a',b'1'); print('  put',x[0],short(x[2],200))
    print('  restore',short(s.req('POST',f'/v1/sessions/{j}/restore',{'checkpoint':c1})[2],200)); print('  then',short(s.run("n",j),150))
print('== database gone / sessions.db behind'); 
r=s.run("n=1"); j=r['session']['id']; time.sleep(1); s.stop()
for f in glob.glob(s.dir+'/data/*'): print(os.path.basename(f),end=' ')
print()
shutil.copytree(s.dir+'/data',s.dir+'/old'); s.start(); r=s.run("n=2",j); r=s.run("n=3",j); print(r['session']); s.stop()
for f in glob.glob(s.dir+'/old/sessions.db*'): shutil.copy(f,s.dir+'/data/')
s.start(); print('behind:',short(s.run("n",j),300)); s.stop()
for f in glob.glob(s.dir+'/data/sessions.db*'): os.remove(f)
try: s.start(); print('without the database:',short(s.run("n",j),300)); print(len(os.listdir(s.dir+'/data/sessions')),'files left'); s.stop()
except SystemExit as e: print('does not start',e)
print(open(s.dir+'/err').read()[-2500:])
