from h import *
s=S('mem',9103,True)
print('== PUT: memory and permits held while a session is busy')
r=s.run('1'); i=r['session']['id']
busy=bg(s.run,'import time; time.sleep(25)',i,timeout_ms=30000); time.sleep(1)
big=b'x'*(240<<20)
puts=[bg(s.req,'PUT',f'/v1/sessions/{i}/files/a{n}?wait_ms=60000',big,timeout=120) for n in range(2)]
time.sleep(6)
t=time.time(); print('bob run:',short(s.run('1',None,who='bob'),300),round(time.time()-t,2))
print('bob lists',short(s.req('GET','/v1/sessions',who='bob')[2],200))
gets=[]
for p in puts: print(p.get('r') and short(p['r'][2]))
busy['th'].join(40)
for p in puts: p['th'].join(60); print(p.get('t'),short(p.get('r',p.get('e'))))
print('== GET permits')
r=s.run("open('f','w').write('x')",i); print(short(r,200))
st,h,b=s.req('PUT','/v1/blobs' if 0 else '/v1/blobs',b'')if 0 else (0,0,0)
rb=s.req('POST','/v1/blobs',b'hello',who='bob',headers={'Content-Type':'text/plain'}); print('bob blob',rb[0],short(rb[2]))
bid=rb[2].get('blob_id') if isinstance(rb[2],dict) else None
busy=bg(s.run,'import time; time.sleep(20)',i,timeout_ms=30000); time.sleep(1)
gets=[bg(s.req,'GET',f'/v1/sessions/{i}/files/f?wait_ms=60000',timeout=120) for _ in range(64)]; time.sleep(3)
x=s.req('GET',f'/v1/blobs/{bid}',who='bob'); print('bob GET blob:',x[0],short(str(x[2])))
busy['th'].join(40)
for g in gets: g['th'].join(60)
print('gets',[g.get('r',[g.get('e')])[0] for g in gets][:5])
print('== resumed states hold http.memory during their cells')
ids=[]
for n in range(2):
    r=s.run("import os\nd=os.urandom(225<<20)\nlen(d)",limits={'memory_bytes':512<<20},timeout_ms=60000)
    if 'session' not in r: r=s.run("import os\nd=b''.join(os.urandom(1<<20) for _ in range(225))\nlen(d)",timeout_ms=60000)
    print(short(r,400)); 
    if 'session' in r: ids.append(r['session']['id'])
s.stop(); s.start()
cs=[bg(s.run,'import time; time.sleep(20); len(d)',i,timeout_ms=30000) for i in ids]; time.sleep(8)
t=time.time(); print('bob run:',short(s.run('1',None,who='bob'),300),round(time.time()-t,2))
for c in cs: c['th'].join(60); print(c.get('t'),short(c.get('r',c.get('e'))))
s.stop(); print(open(s.dir+'/err').read()[-1500:])
