from h import *
s=S('q',9108,False,'workers.count=2')
def cells(i): return s.req('GET',f'/v1/sessions/{i}/cells')[2]
r=s.run("y=await tools.t(a=1)\ny",tools=[{'name':'t'}]); i=r['session']['id']; q=r['requests'][0]['id']
r=s.run("import time"); k=r['session']['id']
s.stop(); s.start()
busy=[bg(s.run,"while True: pass",None,timeout_ms=9000) for _ in range(2)]; time.sleep(2)
a=bg(s.run,'',i,answers=[{'id':q,'output':1}]); time.sleep(1)
print('interrupt',s.req('POST',f'/v1/sessions/{i}/interrupt')[2]); a['th'].join(5); print('answer says',short(a.get('r'),700))
time.sleep(.3); print('row',short({k:v for k,v in cells(i)['cells'][-1].items() if k!='result'})); print('next call',short(s.run('1',i)))
for b in busy: b['th'].join(30)
print('== interrupt of a queued cell with a warm guest')
s.run('1',k)
busy=[bg(s.run,"while True: pass",None,timeout_ms=6000) for _ in range(2)]; time.sleep(2)
a=bg(s.run,'t=time.monotonic()\nwhile time.monotonic()-t<8: pass\n"done"',k,timeout_ms=20000); time.sleep(1)
print('interrupt',s.req('POST',f'/v1/sessions/{k}/interrupt')[2]); a['th'].join(30); print('cell',a.get('t'),short(a.get('r'),250))
s.stop()
