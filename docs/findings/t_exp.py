from h import *
s=S('exp',9115,False,'workers.count=2','sessions.max=4')
W="def f(p='x'):\n    return input(p)\n"
code=W+"for part in range(6):\n    for n in range(15): display(chr(97+part)*65000)\n    f()\n"
g0=s.rss(); n=0; t=time.time()
while time.time()-t<35:
    x=s.req('POST','/v1/sessions',{'idle_ms':1500})[2]
    if 'id' not in x: time.sleep(.3); continue
    r=s.run(code,x['id'])
    for part in range(5):
        if r.get('status')!='waiting': break
        r=s.run('',x['id'],answers=[{'id':r['requests'][0]['id'],'output':''}])
    n+=1
    if n%6==0: print(n,'sessions made (sessions.max = 4), gateway rss',s.rss(),'of',g0,'usage',s.req('GET','/v1/sessions')[2]['usage'],round(time.time()-t))
s.stop()
