from h import *
s=S('kill',9112,False,'workers.count=2')
r=s.run("import time, os"); i=r['session']['id']; s.run('1',i)
def kids():
    out=subprocess.run(['ps','-eo','pid=,ppid=,rss='],capture_output=True,text=True).stdout
    return [int(l.split()[0]) for l in out.strip().split('\n') if int(l.split()[1])==s.pid()]
b=bg(s.run,"t0=time.time()\nprint('began')\nn=0\nwhile time.time()-t0<3: n+=1\n'done'",i,timeout_ms=25000); time.sleep(1.2)
ks=kids(); print('kids',ks)
for k in ks: os.kill(k,9)
b['th'].join(30); print(b.get('t'),short(b.get('r',b.get('e')),500))
print(short(s.req('GET',f'/v1/sessions/{i}/cells')[2]['cells'][-1],300))
# pictures in a notebook
r=s.run("""
import struct,zlib
from PIL import Image
im=Image.new('RGB',(50,50)); display(im)
display('x')
""",i); print(short(r.get('display'),300), short(r.get('error')))
nb=s.req('GET',f'/v1/sessions/{i}/notebook',raw=True); print(nb[0],len(nb[2]),nb[1].get('content-length')); d=json.loads(nb[2]); print(short(d['cells'][-1]['outputs'],300))
c=http.client.HTTPConnection('127.0.0.1',s.port); c.request('GET',f'/v1/sessions/{i}/files'); print(c.getresponse().status)
s.stop(); print([l[:200] for l in open(s.dir+'/err') if 'lost' in l])
