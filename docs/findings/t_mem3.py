from h import *
s=S('mem4',9114,True)
rb=s.run("import os\nd=os.urandom(70<<20)\nlen(d)",who='bob'); j=rb['session']['id']
ids=[]
for n in range(2):
    r=s.run("import os\nd=os.urandom(1970<<20)\nlen(d)",timeout_ms=60000); print(r.get('status'),r['session']['state']); ids.append(r['session']['id'])
s.stop(); s.start()
cs=[bg(s.run,'import time; time.sleep(18); len(d)',i,timeout_ms=30000) for i in ids]; time.sleep(7)
t=time.time(); print('bob goes on:',short(s.run('len(d)',j,who='bob'),300),round(time.time()-t,2)); print('gateway rss',s.rss())
time.sleep(6); print('bob goes on, 6 s later:',short(s.run('len(d)',j,who='bob'),200))
for c in cs: c['th'].join(60); print(c.get('t'),short(c.get('r',c.get('e')),150))
print('bob after:',short(s.run('len(d)',j,who='bob'),150))
s.stop()
