from h import *
s=S('files',9104,False,'workers.count=2')
r=s.run("x=1"); i=r['session']['id']; cp=r['session']['checkpoint']
F=f'/v1/sessions/{i}/files'
def put(p,b=b'abc',h=None,q=''): return s.req('PUT',F+'/'+p+q,b,headers=h or {})
print('put',put('data/a.csv')[:1],short(put('data/a.csv')[2]))
print('If-None-Match *',put('data/a.csv',b'new',{'If-None-Match':'*'})[0], s.req('GET',F+'/data/a.csv',raw=True)[2])
et=s.req('GET',F+'/data/a.csv',raw=True)[1].get('etag') or s.req('GET',F+'/data/a.csv',raw=True)[1].get('ETag'); print('etag',et)
x=put('data/a.csv',b'n2',{'If-Match':et}); print('If-Match etag of the content',x[0],short(x[2]))
x=put('data/a.csv',b'n2',{'If-Match':'"'+cp+'"'}); print('If-Match old cp',x[0],short(x[2]))
x=put('data/a.csv',b'n2',{'If-Match':'W/"'+cp+'"'}); print('If-Match weak',x[0],short(x[2]))
x=put('data/a.csv',b'n2',{'If-Unmodified-Since':'Mon, 01 Jan 2001 00:00:00 GMT'}); print('If-Unmodified-Since',x[0])
for p in ['%2e%2e/x','a/%2e%2e/b','a//b','a%00b','a%0Ab','%ff','a%2Fb','','a/','.','%20','x'*256,'/'.join(['d']*17),'%C3%A9/%C3%BC.txt','a%5Cb','C:%5Cx','a%C2%85b','%E2%80%AEtxt.exe']:
    x=put(p); print(repr(p[:20]),x[0],short(x[2],220))
print('ranges'); put('r.bin',bytes(range(100)))
for rg in ['bytes=0-9','bytes=90-','bytes=-5','bytes=200-','bytes=5-2','bytes=0-1,3-4','items=1']:
    x=s.req('GET',F+'/r.bin',headers={'Range':rg},raw=True); print(rg,x[0],x[1].get('content-range') or x[1].get('Content-Range'),len(x[2]))
print('HEAD',s.req('HEAD',F+'/r.bin',raw=True)[:2])
r=s.run("""import os
os.symlink('/etc','l1'); os.symlink('..','up'); os.symlink('l3','l2'); os.symlink('l2','l3'); os.symlink('nowhere/x','dang')
open('<img src=x onerror=alert(1)>.html','w').write('<script>1</script>')
open('nl\\nname','w').write('1')
open('big.bin','wb').write(b'0'*(50<<20))
os.makedirs('deep/'+'/'.join(['q'*200]*8)); 
for n in range(1500): open(f'many_{n}','w').close()
os.link('r.bin','hard')
sorted(os.listdir('.'))[:5]""",i); print(short(r,300))
for p in ['l1/passwd','up/etc/passwd','l2','dang','/etc/passwd','up']:
    x=s.req('GET',F+'/'+p); print('GET',p,x[0],short(str(x[2]),200))
for p in ['l1/x','up/x','l2/x','dang','l2','deep','hard']:
    x=put(p); print('PUT',p,x[0],short(x[2],250))
for p in ['l1','up','deep','nl%0Aname','nothing','data']:
    x=s.req('DELETE',F+'/'+p); print('DELETE',p,x[0],short(x[2],250))
l=[];c=None;n=0
while True:
    x=s.req('GET',F+'?limit=100'+('&cursor='+urllib.parse.quote(c) if c else ''))[2]
    if 'files' not in x: print(short(x)); break
    l+=[f['path'] for f in x['files']]; n+=1; c=x['next_cursor']
    if x['unlisted']: print('unlisted',x['unlisted'],'on page',n)
    if not c: break
print('pages',n,'files',len(l),'unique',len(set(l)),'sorted',l==sorted(l))
for q in ['?limit=0','?limit=x','?folder=..','?folder=/etc','?folder=l1','?folder=nothing','?cursor=zzz','?cursor=..','?wait_ms=900000','?foo=1','?folder=r.bin']:
    x=s.req('GET',F+q); print(q,x[0],short(x[2],200))
print('== order across page borders with names around "/"')
r=s.run("import os\nos.makedirs('o/a'); [open('o/'+n,'w').close() for n in ('a/1','a/2','a!','a-b','a.txt','a0','b')]",i)
a=[f['path'] for f in s.req('GET',F+'?folder=o')[2]['files']]; b=[];c=None
while True:
    x=s.req('GET',F+'?folder=o&limit=1'+('&cursor='+urllib.parse.quote(c) if c else ''))[2]; b+=[f['path'] for f in x['files']]; c=x['next_cursor']
    if not c: break
print(a,a==b,'sorted by path:',a==sorted(a))
print('== reseed: restore, PUT, then random')
r=s.run("import random\nrandom.random()",i); c0=r['session']['checkpoint']
a=s.run("random.random()",i)['output']
s.req('POST',f'/v1/sessions/{i}/restore',{'checkpoint':c0}); print(put('q')[0]); b=s.run("random.random()",i)['output']; print('differs after restore+PUT:',a!=b)
s.req('POST',f'/v1/sessions/{i}/restore',{'checkpoint':c0}); s.req('GET',F+'/q'); b2=s.run("random.random()",i)['output']; print('differs after restore+GET:',a!=b2,b!=b2)
print('== list then failed DELETE then random (unchanged session)')
r=s.run("random.seed(7)",i); a=s.run("random.random()",i)['output']; r=s.run("random.seed(7)",i); print(s.req('DELETE',F+'/nothing')[0]); b=s.run("random.random()",i)['output']; print('seeded draw same after a refused DELETE:',a==b)
print('== memory full and file read')
r=s.run("m=bytearray(200<<20); open('full','wb').write(os.urandom(100<<20)); 1",i); print(short(r,200))
x=s.req('GET',F+'/full',raw=True); print('read 100 MiB',x[0],len(x[2]))
x=put('w',b'z'*(200<<20)); print('PUT too much',x[0],short(x[2]))
print('Content-Length missing:'); c=http.client.HTTPConnection('127.0.0.1',s.port); c.request('PUT',F+'/c',iter([b'ab',b'cd']),encode_chunked=True,headers={'Transfer-Encoding':'chunked'}); rr=c.getresponse(); print(rr.status,rr.read()[:200])
print('== PUT then cell open file handle'); r=s.run("h=open('r.bin','rb'); h.read(5); 1",i); print(put('r.bin',b'ZZ')[0]); print(short(s.run("(h.tell(),h.read(),os.fstat(h.fileno()).st_size)",i),200))
print('cells listing of PUT:',[ (c['number'],c['source'],c['state']) for c in s.req('GET',f'/v1/sessions/{i}/cells?after=0&limit=6')[2]['cells']])
print('== 20 concurrent PUT/GET/cell with wait'); js=[bg(put,f'c{n}',b'x'*1000,None,'?wait_ms=30000') for n in range(10)]+[bg(s.req,'GET',F+'?limit=5&wait_ms=30000') for n in range(5)]+[bg(s.run,'1',{'id':i,'wait_ms':30000}) for n in range(5)]
for j in js: j['th'].join(60)
print([ (j.get('r') or [j.get('e')])[0] if isinstance(j.get('r'),tuple) else short(j.get('r'),60) for j in js])
s.stop(); print(open(s.dir+'/err').read()[-1500:])
