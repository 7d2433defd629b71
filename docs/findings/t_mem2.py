from h import *
s=S('mem2',9110,True)
r=s.run("open('f','w').write('x'*200000)",who='bob'); j=r['session']['id']
r=s.run("open('f','w').write('x')"); i=r['session']['id']
busy=bg(s.run,'import time; time.sleep(22)',i,timeout_ms=30000); time.sleep(1)
big=b'x'*(222<<20)
puts=[bg(s.req,'PUT',f'/v1/sessions/{i}/files/a{n}?wait_ms=60000',big,timeout=120) for n in range(2)]; time.sleep(4)
print('gateway rss',s.rss())
print('bob small run:',short(s.run('1',None,who='bob'),100))
print('bob 1 MB program:',short(s.run('1#'+'x'*(1<<20),None,who='bob'),300))
x=s.req('GET',f'/v1/sessions/{j}/files/f',who='bob'); print('bob reads his file',x[0],short(str(x[2])[:200]))
x=s.req('GET',f'/v1/sessions/{j}/notebook',who='bob'); print('bob notebook',x[0],short(str(x[2])[:200]))
busy['th'].join(40)
for p in puts: p['th'].join(60); print(p.get('t'),short(p['r'][2]) if 'r' in p else p.get('e'))
busy=bg(s.run,'import time; time.sleep(14)',i,timeout_ms=30000); time.sleep(1)
gets=[bg(s.req,'GET',f'/v1/sessions/{i}/files/f?wait_ms=60000',timeout=120) for _ in range(64)]; time.sleep(3)
x=s.req('GET',f'/v1/sessions/{j}/files/f',who='bob'); print('64 waiting GETs of alice; bob reads his file',x[0],short(str(x[2])[:200]))
s.stop()
