from h import *
s=S('q2',9109,False,'workers.count=2')
def cells(i): return s.req('GET',f'/v1/sessions/{i}/cells')[2]
r=s.run("y=await tools.t(a=1)\ny",tools=[{'name':'t'}]); i=r['session']['id']; q=r['requests'][0]['id']
busy=[bg(s.run,"while True: pass",None,timeout_ms=7000) for _ in range(2)]; time.sleep(1.5)
a=bg(s.run,'',i,answers=[{'id':q,'output':1}]); time.sleep(.7)
rid=s.req('GET',f'/v1/sessions/{i}')[2]['run_id']; print('cancel',rid,s.req('POST',f'/v1/runs/{rid}/cancel')[2]); a['th'].join(5); print('answer says',short(a.get('r'),900))
time.sleep(.3); print('row',short({k:v for k,v in cells(i)['cells'][-1].items() if k!='result'})); print('next call',short(s.run('1',i)))
for b in busy: b['th'].join(30)
print('== held, answers queued, abandon, then cancel')
r=s.run("def f():\n    return input('x')\nprint('shown before')\nf()",i) if 0 else s.run("def f():\n    return input('x')\nprint('shown before')\nf()"); i=r['session']['id']; q=r['requests'][0]['id']
busy=[bg(s.run,"while True: pass",None,timeout_ms=7000) for _ in range(2)]; time.sleep(1.5)
a=bg(s.run,'',i,answers=[{'id':q,'output':1}] and [{'id':q,'output':'1'}]); time.sleep(.7)
print('abandon',short(s.run('',i,abandon=True)))
rid=s.req('GET',f'/v1/sessions/{i}')[2]['run_id']; print('cancel',s.req('POST',f'/v1/runs/{rid}/cancel')[2]); a['th'].join(5); print('answer says',short(a.get('r'),600)); time.sleep(.3); print('row',short(cells(i)['cells'][-1]))
for b in busy: b['th'].join(30)
s.stop()
