from h import *
s=S('named',9116,False,'workers.count=2')
r=s.run('x=1'); i=r['session']['id']; t0=time.time()
for n in range(1,1201):
    r=s.run('1',i)
    if r.get('session',{}).get('state')!='kept': print(n,short(r)); break
    s.req('POST',f'/v1/sessions/{i}/checkpoints',{'name':f'n{n}'})
    if n in (100,300,600,1200):
        a=time.time(); x=s.req('GET','/v1/sessions')[2]; b=time.time(); y=s.req('GET',f'/v1/sessions/{i}')[2]; print(n,'list',round((b-a)*1000),'ms show',round((time.time()-b)*1000),'ms','checkpoints shown',len(y['checkpoints']),'parked',y['parked_own_bytes'])
    if time.time()-t0>70: print('stop',n); break
f=s.req('POST',f'/v1/sessions/{i}/fork',{'count':16})[2]; a=time.time(); s.req('GET','/v1/sessions'); print('with 16 forks: list',round((time.time()-a)*1000),'ms')
s.stop()
